import type { Client } from '@modelcontextprotocol/client'
import type { Clock } from '../core/clock.ts'
import { traceContext } from '../core/meta.ts'
import type { ToolContext, ToolResult } from '../core/tool.ts'
import { orAborted } from '../core/waiting.ts'
import { createCallDeadline } from './call-deadline.ts'
import { defaultCallTimeout, defaultLongestCall, type McpServerConfig } from './config.ts'
import { shortText, toErrorText } from './error-text.ts'
import { isAnswer, isSessionGone, isUnreadable } from './failures.ts'
import { asHeaderRefused, asLoginRequired } from './oauth/login-required.ts'
import { toToolResult } from './results/to-tool-result.ts'
import type { OpenCall } from './server-requests.ts'

interface CallOptions {
  readonly config: McpServerConfig
  readonly clock: Clock
  readonly link: {
    /** The connected client, if there is one. */
    readonly ready: Client | undefined
    client(): Promise<Client>
    drop(client: Client): void
    /** The server answered: earlier failures are forgotten. */
    succeeded(): void
    /** Why it is not connected. */
    readonly problem: string | undefined
    /** The server refused the login, or the configured header. */
    loginRefused(error: Error, client: Client): Promise<void>
  }
  /** Requests of the server find their call here. */
  readonly requests: {
    readonly calls: Set<OpenCall>
    readonly logLevel: { readonly [key: string]: string } | undefined
  }
  readonly secrets: readonly string[]
}

type Input = Readonly<Record<string, unknown>>

/**
 * Calls a tool of a server. Failures become results for the model; only an abort is thrown. A call that was lost is sent again
 * only if the configuration lists the tool as `repeatable`.
 */
export async function callTool(
  tool: string,
  input: Input,
  ctx: ToolContext,
  options: CallOptions,
): Promise<ToolResult> {
  const { config, link, secrets } = options
  const { name: server, repeatable = [] } = config
  const failed = (text: string): ToolResult => ({ output: text, isError: true })
  for (let attempt = 1; ; attempt++) {
    let client: Client
    try {
      client = link.ready ?? (await orAborted(link.client(), ctx.signal))
    } catch (error) {
      ctx.signal.throwIfAborted()
      const login = asHeaderRefused(error, config) ?? asLoginRequired(error, server)
      if (login) return failed(signIn(login))
      return failed(
        `The MCP server "${server}" cannot be reached, and the call was not made: ${toErrorText(error, secrets)}`,
      )
    }
    const limit: { exceeded?: string } = {}
    const hasSession = client.transport?.sessionId !== undefined
    try {
      const result = await send(client, tool, input, ctx, options, limit)
      link.succeeded()
      return toToolResult(result, { server, tool, secrets })
    } catch (error) {
      ctx.signal.throwIfAborted()
      if (limit.exceeded !== undefined)
        return failed(
          `${tool} of the MCP server "${server}" timed out: ${limit.exceeded}. It was told to stop; whether it took effect is not known`,
        )
      if (isAnswer(error)) {
        link.succeeded()
        return failed(toErrorText(error, secrets))
      }
      const login = asHeaderRefused(error, config) ?? asLoginRequired(error, server)
      if (login) {
        await link.loginRefused(login, client)
        return failed(signIn(login))
      }
      if (isUnreadable(error)) {
        link.succeeded()
        return failed(
          `${tool} of the MCP server "${server}" gave an answer that cannot be understood; it may have taken effect`,
        )
      }
      const wasNotRun = hasSession && isSessionGone(error)
      if (wasNotRun || !isConnected(client)) link.drop(client)
      if (attempt === 1 && (wasNotRun || repeatable.includes(tool))) continue
      const why = (!isConnected(client) && link.problem) || toErrorText(error, secrets)
      const times = attempt === 1 ? 'so it was not sent again' : 'and it was sent twice'
      return failed(
        `The call of ${tool} was lost on the way (${why}). Whether it took effect is not known, ${times}: look before you repeat it`,
      )
    }
  }
}

const signIn = ({ message }: Error): string => `${message}. The user has to do that; until then this tool does not work`

/** Whether a client still has its transport. */
const isConnected = (client: Client): boolean => client.transport !== undefined

async function send(
  client: Client,
  tool: string,
  input: Input,
  ctx: ToolContext,
  { config, clock, requests, secrets }: CallOptions,
  limit: { exceeded?: string },
): Promise<unknown> {
  const { callTimeout: silentMs = defaultCallTimeout, longestCall: totalMs = defaultLongestCall } = config
  const stopping = new AbortController()
  const level = client.getProtocolEra() === 'modern' ? requests.logLevel : undefined
  const traced = traceContext()
  const _meta = level || 'traceparent' in traced ? { ...level, ...traced } : undefined
  const deadline = createCallDeadline(clock, { silentMs, totalMs }, (why) => {
    limit.exceeded = why
    stopping.abort(new Error(why))
  })
  const { signal } = ctx
  // Not AbortSignal.any: it costs more than the rest of this function.
  const stop = (): void => stopping.abort(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  const open: OpenCall = { interact: ctx.interact, signal, deadline }
  requests.calls.add(open)
  try {
    return await client.callTool(
      { name: tool, arguments: input as Record<string, unknown>, ...(_meta && { _meta }) },
      {
        signal: stopping.signal,
        timeout: noTimeout,
        onprogress({ progress, total, message }) {
          deadline.restart()
          const count = total === undefined ? `${progress}` : `${progress}/${total}`
          ctx.progress(message === undefined ? count : `${count} ${shortText(message, 500, secrets)}`)
        },
      },
    )
  } finally {
    deadline.end()
    signal.removeEventListener('abort', stop)
    requests.calls.delete(open)
  }
}

/** The SDK's own timeout is off: it would not pause while a person is asked. */
const noTimeout = 2 ** 31 - 1
