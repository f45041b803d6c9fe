import type { Writable } from 'node:stream'
import { visibleText } from '../platform/visible-text.ts'
import { AcpError } from './acp-error.ts'
import { AcpService } from './acp-service.ts'
import type { AcpHost } from './host.ts'
import { lineStream } from './line-stream.ts'
import { loadSdk } from './load-sdk.ts'
import { promptMessage } from './prompt-message.ts'

interface ServeAcpOptions {
  readonly host: AcpHost
  readonly input: AsyncIterable<Uint8Array>
  readonly output: Writable
  /** Ends the service. */
  readonly signal: AbortSignal
}

/** Serves the Agent Client Protocol, version 1, until the client goes or `signal` aborts. Runs under way are then left. */
export async function serveAcp({ host, input, output, signal }: ServeAcpOptions): Promise<void> {
  const sdk = await loadSdk()
  const service = new AcpService(host)
  const { agent } = sdk.methods

  /** Errors of ours have a code; all others are explained to the person. */
  const failure = (error: unknown): Error => {
    if (error instanceof sdk.RequestError) return error
    if (error instanceof AcpError) return new sdk.RequestError(error.code, visibleText(error.message))
    const { message, needsLogin } = host.explain(error)
    return new sdk.RequestError(needsLogin ? -32000 : -32603, message)
  }
  const handled =
    <Context, Result>(handle: (context: Context) => Promise<Result> | Result) =>
    async (context: Context): Promise<Result> => {
      try {
        return await handle(context)
      } catch (error) {
        throw failure(error)
      }
    }

  const app = sdk
    .agent({ name: 'libero' })
    .onRequest(
      agent.initialize,
      handled(({ params }) => service.initialize(params.clientCapabilities ?? {})),
    )
    .onRequest(
      agent.authenticate,
      handled(({ params }) => service.authenticate(params.methodId)),
    )
    .onRequest(
      agent.session.new,
      handled(({ params, client }) => service.open({ ...params, client })),
    )
    .onRequest(
      agent.session.load,
      handled(async ({ params, client }) => {
        const { sessionId: _, ...settings } = await service.open({ ...params, client, isReplayed: true })
        return settings
      }),
    )
    .onRequest(
      agent.session.resume,
      handled(async ({ params, client }) => {
        const { sessionId: _, ...settings } = await service.open({ mcpServers: [], ...params, client })
        return settings
      }),
    )
    .onRequest(
      agent.session.list,
      handled(({ params }) => service.list(params)),
    )
    .onRequest(
      agent.session.close,
      handled(({ params }) => service.close(params.sessionId)),
    )
    .onRequest(
      agent.session.delete,
      handled(({ params }) => service.delete(params.sessionId)),
    )
    .onRequest(
      agent.session.setMode,
      handled(async ({ params }) => {
        await service.session(params.sessionId).set('mode', params.modeId)
        return {}
      }),
    )
    .onRequest(
      agent.session.setConfigOption,
      handled(async ({ params }) => {
        const { configOptions } = await service.session(params.sessionId).set(params.configId, String(params.value))
        return { configOptions }
      }),
    )
    .onRequest(
      agent.session.prompt,
      handled(({ params, signal }) => service.session(params.sessionId).prompt(promptMessage(params.prompt), signal)),
    )
    .onNotification(agent.session.cancel, ({ params }) => service.find(params.sessionId)?.cancel())

  const over = new AbortController()
  const connection = app.connect(lineStream(input, output, { signal: over.signal }))
  const end = (): void => connection.close()
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  output.once('error', end)
  await connection.closed
  over.abort() // a client that is gone reads nothing more
  await service.end()
}
