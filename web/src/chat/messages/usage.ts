import type { AIMessage, BaseMessage, UsageMetadata } from "@langchain/core/messages";

/** The tokens of a message as its model reported them. @langchain/react 1.1.0 puts those of a streamed one with its other arguments. */
export function usageOf(message: BaseMessage): UsageMetadata | undefined {
  const streamed = message.additional_kwargs["usage"] as Partial<UsageMetadata> | undefined;
  return (message as AIMessage).usage_metadata ?? (typeof streamed?.total_tokens === "number" ? { input_tokens: 0, output_tokens: 0, total_tokens: 0, ...streamed } : undefined);
}
