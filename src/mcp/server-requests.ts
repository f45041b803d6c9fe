import { pathToFileURL } from 'node:url'
import type { Client, ClientCapabilities, ElicitRequest, ElicitResult } from '@modelcontextprotocol/client'
import type { Interact } from '../core/interaction.ts'
import type { ExtensionHost } from '../core/run.ts'
import { visibleText } from '../platform/visible-text.ts'
import type { CallDeadline } from './call-deadline.ts'
import type { McpServerConfig } from './config.ts'
import { answerForm, answerUrl } from './elicitation.ts'

/** A call under way, as far as a question of its server is about it. */
export interface OpenCall {
  readonly interact: Interact | undefined
  readonly signal: AbortSignal
  readonly deadline: CallDeadline
}

/** What a server may ask of us, and what it is told. It cannot use our model: `sampling` is not offered. */
export function createRequestHandlers(
  { name, transport }: McpServerConfig,
  { hooks, interact, openExecution }: ExtensionHost,
) {
  const calls = new Set<OpenCall>()

  async function elicited({ params }: ElicitRequest, signal: AbortSignal): Promise<ElicitResult> {
    const call = [...calls].at(-1)
    const ask = call?.interact ?? interact
    if (!ask) return { action: 'cancel' }
    const until = call ? AbortSignal.any([call.signal, signal]) : signal
    const goOn = [...calls].map(({ deadline: patience }) => patience.hold())
    try {
      if (params.mode === 'url') return await answerUrl(name, params, ask, until)
      return await answerForm(name, params, ask, until)
    } catch {
      return { action: 'cancel' } // nobody was there, or somebody called everything off
    } finally {
      for (const each of goOn) each()
    }
  }

  async function roots(): Promise<{ uri: string; name: string }[]> {
    const here = await openExecution?.().catch(() => undefined)
    // A path inside a container means nothing to a program of this machine.
    if (!here || !(here.execution.type === 'process' || here.execution.capabilities.hostPrograms)) return []
    return [{ uri: pathToFileURL(here.handle.cwd).href, name: 'workspace' }]
  }

  const log = createLog((level, text) => void hooks.tell('mcp:log', { name, transport, level, text }))

  return {
    calls,
    capabilities: {
      roots: {},
      ...(interact && { elicitation: { form: { applyDefaults: true }, url: {} } }),
    } satisfies ClientCapabilities,
    attach(client: Client): void {
      client.setRequestHandler('roots/list', async () => ({ roots: await roots() }))
      if (interact)
        client.setRequestHandler('elicitation/create', (request, { mcpReq }) => elicited(request, mcpReq.signal))
      client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => {
        if (hooks.has('mcp:log')) log(level, data)
      })
      client.onerror = () => {} // what it is about fails by itself
    },
    /** Old servers log what they are asked to. One that will not is none the worse for it. */
    async listen(client: Client, signal: AbortSignal): Promise<void> {
      const isOld = client.getProtocolEra() === 'legacy'
      if (!isOld || !hooks.has('mcp:log') || !client.getServerCapabilities()?.logging) return
      await client.setLoggingLevel('info', { signal, timeout: 2000 }).catch(() => {})
    },
    /** New ones are asked with each call. */
    get logLevel(): { readonly [key: string]: string } | undefined {
      return hooks.has('mcp:log') ? { 'io.modelcontextprotocol/logLevel': 'info' } : undefined
    },
  }
}

/** Of a server that cannot stop talking the first words count: so many in a second. */
const mostLogsPerSecond = 20

function createLog(tell: (level: string, text: string) => void): (level: string, data: unknown) => void {
  let second = 0
  let count = 0
  return (level, data) => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) [second, count] = [now, 0]
    if (count++ < mostLogsPerSecond) tell(level, visibleText(textOf(data)).slice(0, 2000))
  }
}

const textOf = (data: unknown): string => (typeof data === 'string' ? data : (JSON.stringify(data) ?? ''))
