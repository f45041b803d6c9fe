import { Chat } from '@ai-sdk/react'
import { type ChatInit, DefaultChatTransport, type UIMessage } from 'ai'
import { expect, onTestFinished } from 'vitest'
import type { SessionStore } from '../../src/index.ts'
import { startServer, type TestServer, token } from './server-kit.ts'

export interface ChatServer extends TestServer {
  readonly url: string
  /** What `useChat` is made of, for one page. */
  page(id: string, init?: Partial<ChatInit<UIMessage>>): Chat<UIMessage>
  transport(): DefaultChatTransport<UIMessage>
}

/** A server that listens on 127.0.0.1, and pages that use it by the AI SDK. */
export async function startChatServer(options: Parameters<typeof startServer>[0]): Promise<ChatServer> {
  const kit = await startServer(options)
  const { serve } = await import('@hono/node-server')
  const { url, close } = await new Promise<{ url: string; close: () => void }>((resolve) => {
    const listening = serve(
      { overrideGlobalObjects: false, fetch: kit.server.fetch, hostname: '127.0.0.1', port: 0 },
      ({ port }) =>
        resolve({
          url: `http://127.0.0.1:${port}`,
          close() {
            listening.close()
            if ('closeAllConnections' in listening) listening.closeAllConnections()
          },
        }),
    )
  })
  onTestFinished(close)
  const transport = () =>
    new DefaultChatTransport<UIMessage>({ api: `${url}/v1/chat`, headers: { authorization: `Bearer ${token}` } })
  return {
    ...kit,
    url,
    transport,
    page: (id, init = {}) => new Chat<UIMessage>({ id, transport: transport(), ...init }),
  }
}

/** A promise that a test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** Waits for something that another part of the program does. */
export async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; tries < 1000; tries++) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`never came true: ${look}`)
}

/** Messages without what is undefined, and whether their parts have ended. */
export function plain(messages: readonly UIMessage[]): unknown {
  return JSON.parse(JSON.stringify(messages))
}

/** How often a message with this text was delivered to the model. */
export async function timesIn(store: SessionStore, id: string, text: string): Promise<number> {
  const entries = await store.read(id)
  return entries.filter((entry) => entry.type === 'turn' && JSON.stringify(entry.turn.content).includes(text)).length
}

/** The texts and tools of a reply, in their order. */
export function outline({ parts }: UIMessage): string[] {
  return parts.map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return `${part.type}: ${part.text}`
    return part.type === 'dynamic-tool' ? `${part.toolName}: ${part.state}` : part.type
  })
}

export function onlyReply(messages: readonly UIMessage[]): UIMessage {
  const replies = messages.filter(({ role }) => role === 'assistant')
  expect(replies).toHaveLength(1)
  return replies[0]!
}
