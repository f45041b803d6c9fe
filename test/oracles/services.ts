import type { ModelEvent, ModelReply, ModelRequest, Provider } from '../../src/core/provider.ts'
import {
  anthropic,
  cerebras,
  google,
  openai,
  openaiCompat,
  openrouter,
  type ServiceOptions,
} from '../../src/providers/index.ts'
import type { WireName } from './streams.ts'

export interface ServiceCase {
  readonly make: (options: ServiceOptions) => Provider
  readonly wire: WireName
  readonly env: string
}

/** Every service, and an unknown one. */
export const services = {
  anthropic: { make: anthropic, wire: 'anthropic-messages', env: 'ANTHROPIC_API_KEY' },
  openai: { make: openai, wire: 'openai-responses', env: 'OPENAI_API_KEY' },
  openrouter: { make: openrouter, wire: 'openai-chat', env: 'OPENROUTER_API_KEY' },
  cerebras: { make: cerebras, wire: 'openai-chat', env: 'CEREBRAS_API_KEY' },
  google: { make: google, wire: 'gemini', env: 'GEMINI_API_KEY' },
  acme: { make: acme, wire: 'openai-chat', env: 'ACME_API_KEY' },
} as const satisfies Record<string, ServiceCase>

export type ServiceName = keyof typeof services

export const serviceCases = Object.entries(services) as [ServiceName, ServiceCase][]

function acme(options: ServiceOptions): Provider {
  return openaiCompat({ name: 'acme', baseURL: 'https://acme.example/v1', defaultModel: 'm', ...options })
}

/** The secret that a request carries, wherever it is. */
export function secretIn(headers: Readonly<Record<string, string>>): string[] {
  const { authorization, 'x-api-key': key, 'x-goog-api-key': googleKey } = headers
  return [authorization?.replace(/^Bearer /, ''), key, googleKey].filter((one) => one !== undefined)
}

/** The parts of a request that a test sets. */
export function requestTo(provider: Provider, request: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: provider.meta.defaultModel,
    system: '',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    tools: [],
    maxTokens: 1000,
    thinking: 'off',
    cache: false,
    ...request,
  }
}

/** One model call with all its events. */
export async function ask(
  provider: Provider,
  request: Partial<ModelRequest> = {},
): Promise<{ events: ModelEvent[]; reply: ModelReply }> {
  const events: ModelEvent[] = []
  for await (const event of provider.stream(requestTo(provider, request), new AbortController().signal))
    events.push(event)
  const reply = events.at(-1)
  if (reply?.type !== 'reply') throw new Error(`there was no reply after ${events.length} events`)
  return { events, reply }
}
