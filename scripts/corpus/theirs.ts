import { createAnthropic } from '@ai-sdk/anthropic'
import { createAzure } from '@ai-sdk/azure'
import { createDeepSeek } from '@ai-sdk/deepseek'
import { createGoogle } from '@ai-sdk/google'
import { createGroq } from '@ai-sdk/groq'
import { createMistral } from '@ai-sdk/mistral'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4, LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { createXai } from '@ai-sdk/xai'
import type { SdkPackage } from './names.ts'
import { type Call, type Outcome, readInput, type Usage } from './outcome.ts'
import type { Answer, Readable } from './recordings.ts'

type Fetch = typeof globalThis.fetch

const apiKey = 'none'
const baseURL = 'http://recorded.invalid/v1'

const models: Readonly<Record<SdkPackage, (fetch: Fetch) => LanguageModelV4>> = {
  anthropic: (fetch) => createAnthropic({ apiKey, fetch })('claude-sonnet-5'),
  azure: (fetch) => createAzure({ apiKey, baseURL, fetch }).responses('gpt-5'),
  'azure-chat': (fetch) => createAzure({ apiKey, baseURL, fetch }).chat('gpt-5'),
  deepseek: (fetch) => createDeepSeek({ apiKey, fetch })('deepseek-chat'),
  google: (fetch) => createGoogle({ apiKey, fetch })('gemini-3-pro'),
  groq: (fetch) => createGroq({ apiKey, fetch })('gpt-oss-120b'),
  mistral: (fetch) => createMistral({ apiKey, fetch })('mistral-large-latest'),
  'open-responses': (fetch) => createOpenResponses({ name: 'recorded', url: `${baseURL}/responses`, fetch })('model'),
  openai: (fetch) => createOpenAI({ apiKey, fetch }).responses('gpt-5'),
  'openai-chat': (fetch) => createOpenAI({ apiKey, fetch }).chat('gpt-4o'),
  'openai-compatible': (fetch) => createOpenAICompatible({ name: 'recorded', baseURL, fetch })('model'),
  xai: (fetch) => createXai({ apiKey, fetch }).responses('grok-4'),
}

/** What the vendor's package of the AI SDK makes of the same bytes. */
export async function decodeWithAiSdk({ sdk }: Readable, { bytes, status, contentType }: Answer): Promise<Outcome> {
  const answer: Fetch = async () =>
    new Response(new Uint8Array(bytes), { status, headers: { 'content-type': contentType } })
  const listener = new Listener(sdk)
  try {
    const { stream } = await models[sdk](answer).doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'recorded' }] }],
    })
    for await (const part of stream) listener.hear(part)
  } catch (error) {
    listener.fail(error)
  }
  return listener.outcome()
}

/** Puts the parts of a stream together. */
class Listener {
  readonly #sdk: SdkPackage
  readonly #text = new Map<string, string>()
  readonly #thinking = new Map<string, string>()
  readonly #calls = new Map<string, Call>()
  #failure: string | undefined
  #stop: Outcome['stop'] = 'cut'
  #usage: Usage | undefined

  constructor(sdk: SdkPackage) {
    this.#sdk = sdk
  }

  hear(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        this.#text.set(part.id, (this.#text.get(part.id) ?? '') + part.delta)
        return
      case 'reasoning-delta':
        this.#thinking.set(part.id, (this.#thinking.get(part.id) ?? '') + part.delta)
        return
      case 'tool-call':
        if (!part.providerExecuted)
          this.#calls.set(part.toolCallId, { name: part.toolName, input: readInput(part.input) })
        return
      case 'tool-result':
        // What was answered by the service was run by the service, whatever the call was marked as.
        this.#calls.delete(part.toolCallId)
        return
      case 'error':
        this.fail(part.error)
        return
      case 'finish': {
        this.#stop = this.#stopOf(part.finishReason)
        const { inputTokens, outputTokens } = part.usage
        // A stand-in does not know where every vendor tells what was cached, and says that nothing was.
        const cacheRead = this.#sdk === 'openai-compatible' ? inputTokens.cacheRead || undefined : inputTokens.cacheRead
        this.#usage = {
          input: inputTokens.noCache,
          output: outputTokens.total,
          cacheRead,
          cacheCreation: inputTokens.cacheWrite,
        }
      }
    }
  }

  fail(error: unknown): void {
    this.#failure ??= messageOf(error)
  }

  outcome(): Outcome {
    return {
      text: [...this.#text.values()].join(''),
      thinking: [...this.#thinking.values()].join(''),
      calls: [...this.#calls.values()],
      stop: this.#stop,
      ...(this.#usage && { usage: this.#usage }),
      ...(this.#failure !== undefined && { failure: this.#failure }),
    }
  }

  #stopOf({ unified, raw }: LanguageModelV4FinishReason): Outcome['stop'] {
    switch (unified) {
      case 'stop':
        return 'end'
      case 'tool-calls':
        return 'tool_use'
      case 'content-filter':
        return 'refusal'
      case 'interrupted':
        return 'cut'
      case 'error':
        this.fail(`finish reason ${raw ?? 'error'}`)
        return 'other'
      case 'other':
        // Not every package has a word for an answer without an end. With Anthropic it is one that gives no reason.
        return raw === undefined && this.#sdk !== 'anthropic' ? 'cut' : 'other'
      default:
        return unified
    }
  }
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(error)
}
