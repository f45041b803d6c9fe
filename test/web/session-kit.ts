import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { EntryBody, LogEntry } from '../../src/core/log.ts'
import type { ModelEvent, Provider } from '../../src/core/provider.ts'
import type { ToolCallBlock } from '../../src/core/turn.ts'
import { createSession, type SessionStore } from '../../src/index.ts'
import { type OpenedPage, openTab, type ServedPage, servePage } from './browser-kit.ts'

/** A model that says what a test tells it to say, when it tells it. */
export interface LedModel {
  readonly provider: () => Provider
  /** Streams a piece of text. */
  say(text: string): void
  think(text: string): void
  /** Ends the reply, with calls if there are some. */
  end(calls?: readonly ToolCallBlock[]): void
  /** A whole reply at once. */
  reply(text: string, calls?: readonly ToolCallBlock[]): void
}

export function ledModel(): LedModel {
  const waiting: ModelEvent[] = []
  let wake = (): void => {}
  let texts: { type: 'text' | 'thinking'; text: string }[] = []
  const add = (event: ModelEvent): void => {
    waiting.push(event)
    wake()
  }
  const speak = (type: 'text' | 'thinking', text: string): void => {
    const last = texts.at(-1)
    if (last?.type === type) last.text += text
    else texts.push({ type, text })
    add({ type, delta: text })
  }
  const end: LedModel['end'] = (calls = []) => {
    for (const { id, name, input } of calls) {
      add({ type: 'tool_start', id, name })
      add({ type: 'tool_args', id, delta: JSON.stringify(input) })
      add({ type: 'tool_end', id })
    }
    const content = [...texts.map(({ type, text }) => ({ type, text })), ...calls]
    texts = []
    add({
      type: 'reply',
      content,
      usage: { input: 1000, output: 50, cost: 0.01 },
      stop: calls.length > 0 ? 'tool_use' : 'end',
    })
  }
  return {
    say: (text) => speak('text', text),
    think: (text) => speak('thinking', text),
    end,
    reply(text, calls) {
      speak('text', text)
      end(calls)
    },
    provider: () => ({
      meta: { name: 'led', defaultModel: 'led-1', capabilities: {} },
      async *stream(_request, signal) {
        yield { type: 'start' }
        for (;;) {
          signal.throwIfAborted()
          const event = waiting.shift()
          if (event) yield event
          else
            await new Promise<void>((resolve, reject) => {
              wake = resolve
              signal.addEventListener('abort', () => reject(signal.reason), { once: true })
            })
          if (event?.type === 'reply') return
        }
      },
    }),
  }
}

/** Writes entries into a new session, as its runs would have. */
export async function writeSession(store: SessionStore, id: string, bodies: readonly EntryBody[]): Promise<void> {
  const session = await createSession({ store, id })
  await session.open()
  await session.log.appendAll(bodies)
  await session.release()
}

export const text = (words: string) => ({ type: 'text', text: words }) as const
export const turn = (id: string, role: 'user' | 'assistant', ...content: readonly object[]): EntryBody =>
  ({ type: 'turn', turn: { id, runId: 'r', role, content, createdAt: 1_700_000_000_000 } }) as unknown as EntryBody
export const ended = (callId: string, output: string, more: object = {}): EntryBody =>
  ({ type: 'call_result', callId, output, outcome: 'done', ...more }) as unknown as EntryBody

/** A tab with a session. */
export async function openSession(
  browser: Browser,
  { link, url }: Pick<ServedPage, 'link' | 'url'>,
  path: string,
  options: BrowserContextOptions & { readonly mayReport?: RegExp } = {},
): Promise<OpenedPage> {
  const page = await openTab(browser, link, options)
  await page.getByRole('navigation').waitFor()
  await page.goto(`${url}/s/${path}`)
  await page.getByRole('feed').or(page.getByText('Nothing was said yet.')).first().waitFor()
  return page
}

export const serveLed = async (
  options: Parameters<typeof servePage>[0] = {},
): Promise<ServedPage & { readonly model: LedModel }> => {
  const model = ledModel()
  return { ...(await servePage({ provider: model.provider, ...options })), model }
}

/** All entries of a session. */
export async function entriesOf(store: SessionStore, id: string): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = []
  for (;;) {
    const page = await store.read(id, { after: entries.length, limit: 500 })
    if (page.length === 0) return entries
    entries.push(...page)
  }
}

/** Sends a message by the keyboard. */
export async function write(page: Page, message: string, key = 'Enter'): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(message)
  await page.keyboard.press(key)
}

/** An expectation that is tried until it holds: a busy machine takes its time. */
export const eventually = <T>(get: () => T) => expect.poll(get, { timeout: 20_000 })
