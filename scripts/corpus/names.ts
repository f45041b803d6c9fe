/** The wires of `src/providers/wires`. */
export type WireName = 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini'

/** The package of the AI SDK to compare with. `openai-compatible` and `open-responses` stand in for vendors without one. */
export type SdkPackage =
  | 'anthropic'
  | 'azure'
  | 'azure-chat'
  | 'deepseek'
  | 'google'
  | 'groq'
  | 'mistral'
  | 'open-responses'
  | 'openai'
  | 'openai-chat'
  | 'openai-compatible'
  | 'xai'

/** Wires that are not supported, by vendor (`<vendor>`) and API (`<vendor>--<api>`). */
const outside: readonly (readonly [RegExp, string])[] = [
  [/^(amazon-)?bedrock/, 'Bedrock has a wire of its own'],
  [/^cohere/, 'Cohere has a wire of its own'],
  [/--interactions$/, "Google's Interactions API"],
  [/--.*(speech|transcription|translation|realtime|live|audio)/, 'speech, not text'],
  [/--(completion|embedding|image|video|rerank|moderation|file|batch)/, 'another API than chat'],
  [/^(record-replay|websocket)/, 'no answer of a model'],
]

/** Why a family of recordings belongs to no supported wire; `undefined` if it may belong to one. */
export function whyOutside(family: string): string | undefined {
  return outside.find(([pattern]) => pattern.test(family))?.[1]
}

/** Recognises the wire by the content; by the name or address if there is no content. */
export function wireOf(name: string, payloads: readonly unknown[], url = ''): WireName | undefined {
  for (const payload of payloads) {
    if (typeof payload !== 'object' || payload === null) continue
    const { type } = payload as { type?: unknown }
    if ('choices' in payload) return 'openai-chat'
    if ('candidates' in payload || 'usageMetadata' in payload || 'promptFeedback' in payload) return 'gemini'
    if (typeof type !== 'string') continue
    if (type.startsWith('response.')) return 'openai-responses'
    if (type.startsWith('message_') || type.startsWith('content_block_')) return 'anthropic-messages'
  }
  return hints.find(([pattern]) => pattern.test(url) || pattern.test(name))?.[1]
}

const hints: readonly (readonly [RegExp, WireName])[] = [
  [/\/messages\b|^anthropic/, 'anthropic-messages'],
  [/:(stream)?generateContent|^(google|gemini)/i, 'gemini'],
  [/\/chat\/completions|chat|^(groq|mistral|deepseek|cerebras|openrouter|perplexity|openai-compatible)/, 'openai-chat'],
  [/^(alibaba|baseten|cloudflare|deepinfra|fireworks|moonshot|together|vercel)/, 'openai-chat'],
  [/\/responses\b|responses|^(azure|huggingface|openai|xai)/, 'openai-responses'],
]

/** Of the packages for one wire, that of the vendor in the name or address. */
export function packageFor(name: string, wire: WireName, url = ''): SdkPackage {
  const [vendor = '', ...rest] = name.split('--')
  // These two host models of other vendors, which the case names.
  const isHost = /^(openai-compatible|azure)/.test(vendor)
  const names = [URL.parse(url)?.hostname, vendor, isHost && rest.at(-1)].join(' ')
  const known = packages[wire].find(([pattern]) => pattern.test(names))?.[1]
  return known ?? standIns[wire]
}

const packages: Readonly<Record<WireName, readonly (readonly [RegExp, SdkPackage])[]>> = {
  'anthropic-messages': [],
  gemini: [],
  'openai-responses': [
    [/\bxai\b|\bx\.ai\b/, 'xai'],
    [/\bazure\b/, 'azure'],
    [/\bopen-responses\b|\bhuggingface\b/, 'open-responses'],
    [/\bopenai\b|\bsession\b/, 'openai'],
  ],
  'openai-chat': [
    [/\bdeepseek\b/, 'deepseek'],
    [/\bgroq\b/, 'groq'],
    [/\bmistral\b/, 'mistral'],
    [/\bazure\b/, 'azure-chat'],
    [/\bopenai(?!-compatible)\b/, 'openai-chat'],
  ],
}

const standIns: Readonly<Record<WireName, SdkPackage>> = {
  'anthropic-messages': 'anthropic',
  gemini: 'google',
  'openai-responses': 'open-responses',
  'openai-chat': 'openai-compatible',
}
