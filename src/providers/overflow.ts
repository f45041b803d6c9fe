/** Whether the error text of a service says that the request exceeds the model's context. An HTTP 413 without text needs a check of the status. */
export function isOverflow(text: string): boolean {
  const start = text.slice(0, maxSearchedLength).toLowerCase()
  // This one request exceeds a limit per minute: waiting never helps, so this is checked before the exclusions.
  if (/request too large for .{1,300}\brequested \d/s.test(start)) return true
  return !notOverflow.test(start) && wordings.some((wording) => wording.test(start))
}

/** Bodies that quote the request are long; the cause is at the beginning. */
const maxSearchedLength = 20_000

/** Bedrock's "too many tokens" means too many in the current minute. */
const notOverflow = /\brate[ _-]?limit|too many requests|throttl|too many tokens/

const wordings: readonly RegExp[] = [
  /prompt (is )?too long/, // Anthropic, Bedrock
  /exceed context limit/, // Anthropic, input and `max_tokens` together: asking for less output is enough
  /request_too_large/,
  /prompt exceeds max length/, // z.ai
  /input is too long for requested model/, // Bedrock
  /exceeds the context window/, // OpenAI Responses
  /context[ _](length|window)[ _]exceeded/, // OpenAI's code, LiteLLM, z.ai
  /maximum context length/, // OpenAI, OpenRouter, vLLM, DeepSeek, Mistral
  /input token count.{0,60}exceeds the maximum/, // Gemini
  /maximum prompt length is/, // xAI
  /reduce the length of the messages/, // Groq
  /maximum allowed input length/, // Poolside
  /longer than the model's context length/, // Together, SGLang
  /tokens?\b.{0,60}exceeds the limit of \d/, // Copilot; many other things have a limit, so tokens must be named
  /exceeds the available context size/, // llama.cpp
  /greater than the context length/, // LM Studio
  /context window exceeds limit/, // MiniMax
  /exceeded model token limit/, // Kimi
  /range of input length should be/, // DashScope
]
