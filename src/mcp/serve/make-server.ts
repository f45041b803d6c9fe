import type { Readable, Writable } from 'node:stream'
import type { CallToolResult, Server, ServerContext, Tool } from '@modelcontextprotocol/server'
import { isRecord } from '../../core/is-record.ts'
import type { AgentToolService, ListedTool } from './agent-tool-service.ts'
import type { CallAnswer } from './call-answer.ts'
import type { Form } from './elicitation.ts'
import type { ServerSdk } from './load-server-sdk.ts'
import { longestAnswerMs, type PendingCall, type SuspendedCalls } from './pending-call.ts'

export interface ServerParts {
  readonly loaded: ServerSdk
  readonly service: AgentToolService
  readonly suspended: SuspendedCalls
  readonly name: string
  readonly version: string
  readonly instructions?: string
}

/** An SDK server: one for each connection, or for each request in the protocol without connections. */
export function makeServer(parts: ServerParts, era: 'legacy' | 'modern'): Server {
  const { loaded, service, suspended, name, version, instructions } = parts
  const { sdk, Validator } = loaded
  const server = new sdk.Server(
    { name, version },
    {
      capabilities: { tools: {} },
      jsonSchemaValidator: new Validator(),
      ...(instructions !== undefined && { instructions }),
    },
  )
  // In the new era each request states the client's capabilities; in the old one the connection did.
  const canAsk = ({ mcpReq: { envelope } }: ServerContext): boolean => {
    if (era === 'legacy') return canElicit(server.getClientCapabilities())
    return isRecord(envelope) && canElicit(envelope[sdk.CLIENT_CAPABILITIES_META_KEY])
  }

  server.setRequestHandler('tools/list', async (_request, ctx) => ({
    tools: (await service.tools(canAsk(ctx))).map(asListed),
  }))

  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, ctx) => {
    const call = await callFor(name, args, ctx)
    call.follow(ctx.mcpReq.signal, progressTo(ctx))
    for (;;) {
      const step = await call.nextStep()
      if ('result' in step) {
        call.unfollow()
        return asResult(step.result)
      }
      const { question } = step
      const form = formFor(question.form)
      if (era === 'legacy') {
        // The same request waits for the answer. A failure to ask counts as a refusal.
        const signal = AbortSignal.any([ctx.mcpReq.signal, question.signal])
        const asking = ctx.mcpReq.elicitInput({ mode: 'form', ...form }, { signal, timeout: longestAnswerMs })
        call.answer(await asking.catch(() => undefined))
        continue
      }
      call.unfollow() // this request ends, and the client sends it again
      const inputRequests = { answer: sdk.inputRequired.elicit(form) }
      return sdk.inputRequired({ inputRequests, requestState: suspended.suspend(call) })
    }
  })

  async function callFor(name: string, args: Record<string, unknown>, ctx: ServerContext): Promise<PendingCall> {
    const state = ctx.mcpReq.requestState<string>()
    if (state === undefined) {
      const call = await service.begin({ name, args, canAsk: canAsk(ctx) })
      if (!call) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`)
      return call
    }
    const call = suspended.resume(state, name, args)
    if (!call)
      throw new sdk.ProtocolError(
        sdk.ProtocolErrorCode.InvalidParams,
        'Invalid or expired requestState: call again without it',
      )
    call.answer(ctx.mcpReq.inputResponses?.answer)
    return call
  }

  return server
}

/** A copy, because the SDK may change it. */
function formFor({ message, requestedSchema: { properties, ...schema } }: Form) {
  return { message, requestedSchema: { ...schema, properties: { ...properties } } }
}

/** Whether a client can show forms. One that only opens pages cannot show an approval. */
function canElicit(capabilities: unknown): boolean {
  const { elicitation } = isRecord(capabilities) ? capabilities : {}
  return isRecord(elicitation) && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Some schemas leave out `type`, which MCP requires. */
function asListed({ name, description, inputSchema, outputSchema }: ListedTool): Tool {
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: 'object' },
    ...(outputSchema && { outputSchema: { ...outputSchema, type: 'object' } }),
  }
}

function progressTo({ mcpReq: { _meta, notify } }: ServerContext): ((text: string) => void) | undefined {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (message) => {
    const params = { progressToken, progress: ++progress, message }
    notify({ method: 'notifications/progress', params }).catch(() => {}) // the client is gone; its request is cancelled too
  }
}

function asResult({ content, structuredContent, isError }: CallAnswer): CallToolResult {
  return {
    content: content.map((block) => ({ ...block })),
    ...(structuredContent && { structuredContent: { ...structuredContent } }),
    ...(isError && { isError }),
  }
}

/** Node's streams, typed as `object` so that users need no types of Node. */
export interface McpStdioOptions {
  /** A `Readable`. Default: stdin of this process. */
  readonly input?: object
  /** A `Writable`. Default: stdout of this process. Nothing else may be written there. */
  readonly output?: object
  /** Ends serving, as if the client had closed its end. */
  readonly signal?: AbortSignal
}

/** Serves one client over two pipes, until it closes its end. */
export async function serveStdio(
  parts: ServerParts,
  { input, output, signal }: McpStdioOptions,
  report: (error: Error) => void,
): Promise<void> {
  const { stdio } = parts.loaded
  const transport = new stdio.StdioServerTransport(input as Readable | undefined, output as Writable | undefined, {
    maxBufferSize: mostBytes,
  })
  const ended = Promise.withResolvers<void>()
  const handle = stdio.serveStdio(({ era }) => makeServer(parts, era), { transport, onerror: report })
  const { onclose } = transport
  transport.onclose = () => {
    onclose?.()
    ended.resolve()
  }
  const stop = (): void => void handle.close().finally(ended.resolve)
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  try {
    await ended.promise
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** The largest message. */
const mostBytes = 16 * 1024 * 1024
