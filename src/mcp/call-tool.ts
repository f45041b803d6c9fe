import type { Client } from '@modelcontextprotocol/client'
import type { Clock } from '../core/clock.ts'
import type { ToolContext, ToolResult } from '../core/tool.ts'
import { visibleText } from '../platform/visible-text.ts'
import { createCallDeadline } from './call-deadline.ts'
import { defaultCallTimeout, defaultLongestCall, type McpServerConfig } from './config.ts'
import { redactFailure, toErrorText } from './error-text.ts'
import { isAnswer, isSessionGone, isUnreadable } from './failures.ts'
import { asHeaderRefused, asLoginRequired } from './oauth/login-required.ts'
import { toToolResult } from './results/to-tool-result.ts'
import type { OpenCall } from './server-requests.ts'
import { waitUnless } from './wait-unless.ts'

export interface CallOptions {
  readonly config: McpServerConfig
  readonly clock: Clock
  readonly link: {
    /** The connection where there is one: most calls wait for nothing. */
    readonly ready: Client | undefined
    client(): Promise<Client>
    drop(client: Client): void
    worked(): void
    /** Why it is not connected. */
    readonly problem: string | undefined
    /** The server refused the login, or the header that the configuration sets. */
    needsLogin(error: Error, client: Client): Promise<void>
  }
  /** Where questions of the server find the call they are about. */
  readonly answers: {
    readonly calls: Set<OpenCall>
    readonly logLevel: { readonly [key: string]: string } | undefined
  }
  readonly secrets: readonly string[]
}

type Input = Readonly<Record<string, unknown>>

/**
 * One call of a server's tool. Whatever becomes of it, the model reads it; only an abort is thrown. A call that got lost is sent again
 * only if the user said that this does no harm.
 */
export async function callTool(
  tool: string,
  input: Input,
  ctx: ToolContext,
  options: CallOptions,
): Promise<ToolResult> {
  const { config, link, secrets } = options
  const { name: server, repeatable = [] } = config
  const say = (text: string): ToolResult => ({ output: text, isError: true })
  for (let attempt = 1; ; attempt++) {
    let client: Client
    try {
      client = link.ready ?? (await waitUnless(ctx.signal, link.client()))
    } catch (error) {
      ctx.signal.throwIfAborted()
      const login = asHeaderRefused(error, config) ?? asLoginRequired(error, server)
      if (login) return say(signIn(login))
      return say(
        `The MCP server "${server}" cannot be reached, and the call was not made: ${toErrorText(error, secrets)}`,
      )
    }
    const limit: { over?: string } = {}
    const hasSession = client.transport?.sessionId !== undefined
    try {
      const result = await send(client, tool, input, ctx, options, limit)
      link.worked()
      return redactFailure(toToolResult(result, { server, tool }), secrets)
    } catch (error) {
      ctx.signal.throwIfAborted()
      if (limit.over !== undefined)
        return say(
          `${tool} of the MCP server "${server}" timed out: ${limit.over}. It was told to stop; whether it took effect is not known`,
        )
      if (isAnswer(error)) {
        link.worked()
        return say(toErrorText(error, secrets))
      }
      const login = asHeaderRefused(error, config) ?? asLoginRequired(error, server)
      if (login) {
        await link.needsLogin(login, client)
        return say(signIn(login))
      }
      if (isUnreadable(error)) {
        link.worked()
        return say(
          `${tool} of the MCP server "${server}" gave an answer that cannot be understood; it may have taken effect`,
        )
      }
      const wasNotDone = hasSession && isSessionGone(error)
      if (wasNotDone || !isWhole(client)) link.drop(client)
      if (attempt === 1 && (wasNotDone || repeatable.includes(tool))) continue
      const why = (!isWhole(client) && link.problem) || toErrorText(error, secrets)
      const times = attempt === 1 ? 'so it was not sent again' : 'and it was sent twice'
      return say(
        `The call of ${tool} was lost on the way (${why}). Whether it took effect is not known, ${times}: look before you repeat it`,
      )
    }
  }
}

const signIn = ({ message }: Error): string => `${message}. The user has to do that; until then this tool does not work`

/** Whether a client still has what it talks through. */
const isWhole = (client: Client): boolean => client.transport !== undefined

async function send(
  client: Client,
  tool: string,
  input: Input,
  ctx: ToolContext,
  { config, clock, answers }: CallOptions,
  limit: { over?: string },
): Promise<unknown> {
  const { callTimeout: silentMs = defaultCallTimeout, longestCall: totalMs = defaultLongestCall } = config
  const over = new AbortController()
  const _meta = client.getProtocolEra() === 'modern' ? answers.logLevel : undefined
  const patience = createCallDeadline(clock, { silentMs, totalMs }, (why) => {
    limit.over = why
    over.abort(new Error(why))
  })
  const { signal } = ctx
  // By hand: a composed signal is dearer than the rest of this.
  const stop = (): void => over.abort(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  const open: OpenCall = { interact: ctx.interact, signal, deadline: patience }
  answers.calls.add(open)
  try {
    return await client.callTool(
      { name: tool, arguments: input as Record<string, unknown>, ...(_meta && { _meta }) },
      {
        signal: over.signal,
        timeout: longest,
        onprogress({ progress, total, message }) {
          patience.heard()
          const count = total === undefined ? `${progress}` : `${progress}/${total}`
          ctx.progress(message === undefined ? count : `${count} ${visibleText(message).slice(0, 500)}`)
        },
      },
    )
  } finally {
    patience.end()
    signal.removeEventListener('abort', stop)
    answers.calls.delete(open)
  }
}

/** Our own limits hold; the library's would run on while a person is being asked. */
const longest = 2 ** 31 - 1
