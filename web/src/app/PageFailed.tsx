import { Button } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { useWords } from "../words/words";

/** Stands in for a page that threw, or whose code could not be loaded after an update of the server. */
export function PageFailed({ error }: { error: unknown }) {
  const words = useWords();
  return (
    <Empty title={words.app.failed}>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <Button kind="primary" onClick={() => location.reload()}>{words.app.again}</Button>
    </Empty>
  );
}
