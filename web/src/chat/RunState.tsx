import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import css from "./Conversation.module.css";
import type { ChatStream } from "./stream/useChatStream";

interface Props {
  stream: ChatStream;
  /** Whether an error is told elsewhere. */
  told(error: unknown): boolean;
  asking: boolean;
  /** Why something that the user wanted could not be done. */
  failure: string;
  /** Why the last run failed before this page was there; undefined where it didn't. */
  before: string | undefined;
  /** The last message has not been sent: it has a button of its own. */
  unsent: boolean;
  onRetry(): void;
}

/** The last lines of a conversation: it works, or it failed. */
export function RunState({ stream, told, asking, failure, before, unsent, onRetry }: Props) {
  const words = useWords();
  const error = stream.error && !told(stream.error) ? String((stream.error as { message?: string }).message ?? stream.error) : before;
  return (
    <>
      <p className={css.working} role="status">
        {stream.isLoading && !asking ? <><span className={css.dots} aria-hidden><i /><i /><i /></span> {words.chat.working}</> : null}
      </p>
      {error !== undefined && !stream.isLoading ? (
        <Notice kind="bad" alert>
          <span><strong>{words.chat.runFailed}</strong>{error ? `: ${error}` : "."}</span>
          {unsent ? null : <Button small onClick={onRetry}>{words.chat.retryRun}</Button>}
        </Notice>
      ) : null}
      {failure ? <Notice kind="bad" alert>{failure}</Notice> : null}
    </>
  );
}
