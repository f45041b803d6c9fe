/** Whether a service's error text says that the request does not fit into the model's context. A bare HTTP 413 has no text: ask for the status too. */
export function isOverflow(text: string): boolean {
  const said = text.slice(0, longest).toLowerCase()
  // A limit per minute that this one request breaks alone: waiting never helps, so it goes before the exclusions.
  if (/request too large for .{1,300}\brequested \d/s.test(said)) return true
  return !notOverflow.test(said) && wordings.some((wording) => wording.test(said))
}

/** Bodies that quote the request are long; what went wrong stands at their beginning. */
const longest = 20_000

/** Bedrock's "too many tokens" means too many in this minute. */
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
