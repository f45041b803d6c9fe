import type { CallToolResult, Server, ServerContext, Tool } from '@modelcontextprotocol/server'
import { isRecord } from '../../core/is-record.ts'
import type { Form } from './elicitation.ts'
import type { FaceWork, ListedTool } from './face-work.ts'
import type { HeldCall } from './held-call.ts'
import type { ServerSdk } from './load-server-sdk.ts'
import type { CallAnswer } from './to-content.ts'
import type { WaitingCalls } from './waiting-calls.ts'

export interface ServerParts {
  readonly loaded: ServerSdk
  readonly work: FaceWork
  readonly waiting: WaitingCalls
  readonly name: string
  readonly version: string
  readonly instructions?: string
}

/** A server for one connection, or for one request where there are none. */
export function makeServer(parts: ServerParts, era: 'legacy' | 'modern'): Server {
  const { loaded, work, waiting, name, version, instructions } = parts
  const { sdk, Validator } = loaded
  const server = new sdk.Server(
    { name, version },
    {
      capabilities: { tools: {} },
      jsonSchemaValidator: new Validator(),
      ...(instructions !== undefined && { instructions }),
    },
  )
  // In the new era each request says what its client can do; in the old one the connection did.
  const canAsk = ({ mcpReq: { envelope } }: ServerContext): boolean => {
    if (era === 'legacy') return canElicit(server.getClientCapabilities())
    return isRecord(envelope) && canElicit(envelope[sdk.CLIENT_CAPABILITIES_META_KEY])
  }

  server.setRequestHandler('tools/list', async (_request, ctx) => ({
    tools: (await work.tools(canAsk(ctx))).map(asListed),
  }))

  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, ctx) => {
    const call = await callFor(name, args, ctx)
    call.follow(ctx.mcpReq.signal, progressTo(ctx))
    for (;;) {
      const step = await call.step()
      if ('answer' in step) {
        call.unfollow()
        return asResult(step.answer)
      }
      const form = formFor(step.form)
      if (era === 'legacy') {
        // The same request waits while its client is asked. Whatever goes wrong with that is no yes.
        const signal = AbortSignal.any([ctx.mcpReq.signal, step.signal])
        const asking = ctx.mcpReq.elicitInput({ mode: 'form', ...form }, { signal, timeout: patienceMs })
        call.answer(await asking.catch(() => undefined))
        continue
      }
      call.unfollow() // it is over, and its client calls once more
      const inputRequests = { answer: sdk.inputRequired.elicit(form) }
      return sdk.inputRequired({ inputRequests, requestState: waiting.park(call) })
    }
  })

  async function callFor(name: string, args: Record<string, unknown>, ctx: ServerContext): Promise<HeldCall> {
    const state = ctx.mcpReq.requestState<string>()
    if (state === undefined) {
      const call = await work.begin({ name, args, canAsk: canAsk(ctx) })
      if (!call) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`)
      return call
    }
    const call = waiting.take(state, name, args)
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

/** An authority waits less for an approval. */
const patienceMs = 600_000

/** A copy, as the package wants to own it. */
function formFor({ message, requestedSchema: { properties, ...schema } }: Form) {
  return { message, requestedSchema: { ...schema, properties: { ...properties } } }
}

/** By a form; a client that only opens pages cannot be asked for an approval. */
function canElicit(capabilities: unknown): boolean {
  const { elicitation } = isRecord(capabilities) ? capabilities : {}
  return isRecord(elicitation) && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Some schemas leave out what every tool's arguments are. */
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
    notify({ method: 'notifications/progress', params }).catch(() => {}) // the client is gone, which the call hears of itself
  }
}

function asResult({ content, structuredContent, isError }: CallAnswer): CallToolResult {
  return {
    content: content.map((block) => ({ ...block })),
    ...(structuredContent && { structuredContent: { ...structuredContent } }),
    ...(isError && { isError }),
  }
}
