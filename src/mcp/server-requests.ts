import { pathToFileURL } from 'node:url'
import type { Client, ClientCapabilities, ElicitRequest, ElicitResult } from '@modelcontextprotocol/client'
import type { Interact } from '../core/interaction.ts'
import type { ExtensionHost } from '../core/run.ts'
import type { CallDeadline } from './call-deadline.ts'
import type { McpServerConfig } from './config.ts'
import { answerForm, answerUrl } from './elicitation.ts'
import { secretsOf, shortText } from './error-text.ts'
import { loadSdk } from './load-sdk.ts'
import { SecretFormError } from './secret-form.ts'

/** A call under way, to which a request of its server may belong. */
export interface OpenCall {
  readonly interact: Interact | undefined
  readonly signal: AbortSignal
  readonly deadline: CallDeadline
}

/** Answers the requests of a server: elicitation and roots. It also receives its log. `sampling` is not offered. */
export function createRequestHandlers(config: McpServerConfig, { hooks, interact, openExecution }: ExtensionHost) {
  const { name, transport } = config
  const calls = new Set<OpenCall>()

  async function elicit({ params }: ElicitRequest, signal: AbortSignal): Promise<ElicitResult> {
    const call = [...calls].at(-1)
    const ask = call?.interact ?? interact
    if (!ask) return { action: 'cancel' }
    const until = call ? AbortSignal.any([call.signal, signal]) : signal
    const resumes = [...calls].map(({ deadline }) => deadline.pause())
    try {
      if (params.mode === 'url') return await answerUrl(name, params, ask, until)
      return await answerForm(name, params, ask, until)
    } catch (error) {
      if (error instanceof SecretFormError) throw await invalidRequest(error)
      return { action: 'cancel' } // no person could be asked, or the call was aborted
    } finally {
      for (const resume of resumes) resume()
    }
  }

  async function roots(): Promise<{ uri: string; name: string }[]> {
    const here = await openExecution?.().catch(() => undefined)
    // A path inside a container has no meaning for a program on this machine.
    if (!here || !(here.execution.type === 'process' || here.execution.capabilities.hostPrograms)) return []
    return [{ uri: pathToFileURL(here.handle.cwd).href, name: 'workspace' }]
  }

  const secrets = secretsOf(config)
  const log = createLog((level, data) => {
    const text = shortText(textOf(data), mostLogged, secrets)
    void hooks.tell('mcp:log', { name, transport, level, text })
  })

  return {
    calls,
    capabilities: {
      roots: {},
      ...(interact && { elicitation: { form: { applyDefaults: true }, url: {} } }),
    } satisfies ClientCapabilities,
    attach(client: Client): void {
      client.setRequestHandler('roots/list', async () => ({ roots: await roots() }))
      if (interact)
        client.setRequestHandler('elicitation/create', (request, { mcpReq }) => elicit(request, mcpReq.signal))
      client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => {
        if (hooks.has('mcp:log')) log(level, data)
      })
      client.onerror = () => {} // the affected request fails by itself
    },
    /** Sets the log level of servers of the old protocol. A failure is ignored. */
    async requestLogs(client: Client, signal: AbortSignal): Promise<void> {
      const isOld = client.getProtocolEra() === 'legacy'
      if (!isOld || !hooks.has('mcp:log') || !client.getServerCapabilities()?.logging) return
      await client.setLoggingLevel('info', { signal, timeout: 2000 }).catch(() => {})
    },
    /** The log level for servers of the new protocol, sent with each call. */
    get logLevel(): { readonly [key: string]: string } | undefined {
      return hooks.has('mcp:log') ? { 'io.modelcontextprotocol/logLevel': 'info' } : undefined
    },
  }
}

/** The error tells the server why; a `decline` would read as the decision of the person. */
async function invalidRequest({ message }: Error): Promise<Error> {
  const { ProtocolError, ProtocolErrorCode } = await loadSdk()
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

/** Further log messages within the second are dropped. */
const mostLogsPerSecond = 20

const mostLogged = 2000

function createLog(tell: (level: string, data: unknown) => void): (level: string, data: unknown) => void {
  let second = 0
  let count = 0
  return (level, data) => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) [second, count] = [now, 0]
    if (count++ < mostLogsPerSecond) tell(level, data)
  }
}

const textOf = (data: unknown): string => (typeof data === 'string' ? data : (JSON.stringify(data) ?? ''))
