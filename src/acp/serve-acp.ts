import { Readable, type Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { attachedText } from '../chat/attached-text.ts'
import type { OutgoingMessage } from '../chat/chat.ts'
import { isRecord } from '../core/is-record.ts'
import type { PromptPart } from '../core/turn.ts'
import { visibleName, visibleText } from '../platform/visible-text.ts'
import { type InputLine, readLines } from '../rpc/read-lines.ts'
import { AcpError } from './acp-error.ts'
import { AcpService } from './acp-service.ts'
import type { AcpHost } from './host.ts'
import { loadSdk } from './load-sdk.ts'
import type { AnyMessage, ContentBlock, Stream } from './protocol.ts'

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

/** Room for a prompt with several large images. */
const longestLine = 64 * 1024 * 1024

/**
 * Messages over two byte streams, one JSON object in each line. What is no message gets an error as its answer, and reading
 * goes on: the SDK's own stream ends at a line that is too long. When the signal aborts, no write waits for a reader any more.
 */
export function lineStream(
  input: AsyncIterable<Uint8Array>,
  output: Writable,
  { maxBytes = longestLine, signal }: { readonly maxBytes?: number; readonly signal?: AbortSignal } = {},
): Stream {
  const write = (message: object): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = (): void => reject(new Error('The client is gone'))
      if (signal?.aborted) return end()
      signal?.addEventListener('abort', end, { once: true })
      output.write(lineOf(message), (error) => {
        signal?.removeEventListener('abort', end)
        if (error) reject(error)
        else resolve()
      })
    })

  async function* messages(): AsyncGenerator<AnyMessage> {
    for await (const line of readLines(input, { maxBytes, longLines: 'skipped' })) {
      const read = readMessage(line)
      if (!read) continue
      if ('message' in read) yield read.message
      else await write({ jsonrpc: '2.0', id: null, error: { code: read.code, message: read.problem } })
    }
  }

  const readable = Readable.toWeb(Readable.from(messages())) as ReadableStream<AnyMessage>
  return { readable, writable: new WritableStream({ write }) }
}

type Read = { readonly message: AnyMessage } | { readonly code: number; readonly problem: string }

function readMessage(line: InputLine): Read | undefined {
  if ('problem' in line) return { code: -32700, problem: `Parse error: ${line.problem}` }
  if (line.text.trim() === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(line.text)
  } catch {
    return { code: -32700, problem: 'Parse error: the line is no JSON' }
  }
  if (!isRecord(value)) return { code: -32600, problem: 'Invalid request: a message is one JSON object' }
  return { message: value as AnyMessage } // the SDK checks it
}

/** Clients in Rust refuse a line that holds half of a surrogate pair. */
function lineOf(message: object): string {
  const text = JSON.stringify(message)
  const whole = /\\ud[89a-f]/.test(text) ? JSON.stringify(message, wellFormed) : text
  return `${whole}\n`
}

const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value)

/** The message that a prompt of a client is: texts and links as one text, images and embedded resources as parts. */
function promptMessage(prompt: readonly ContentBlock[]): OutgoingMessage {
  const parts = prompt.map(partOf)
  const inline = parts.filter((part) => typeof part === 'string')
  const text = inline.join('')
  const others = parts.filter((part) => typeof part !== 'string')
  if (text.trim() === '' && others.length === 0)
    throw new AcpError('invalid', 'The prompt is empty; send a text, an image or a resource')
  if (others.length === 0) return { text }
  return { text, parts: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...others] }
}

function partOf(block: ContentBlock): string | PromptPart {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
      return { type: 'image', mediaType: imageType(block.mimeType), data: base64(block.data, 'image') }
    case 'resource_link':
      return `[@${label(block.name)}](${pathOf(block.uri)})`
    case 'resource':
      return resourcePart(block.resource)
    case 'audio':
      throw new AcpError('invalid', 'Audio is not supported here; send text, images or resources')
  }
}

function resourcePart(resource: Extract<ContentBlock, { type: 'resource' }>['resource']): PromptPart {
  const path = pathOf(resource.uri)
  if ('text' in resource) return { type: 'text', text: attachedText(visibleName(path), resource.text) }
  const { mimeType: mediaType = '', blob } = resource
  if (mediaType?.startsWith('image/'))
    return { type: 'image', mediaType: imageType(mediaType), data: base64(blob, 'resource') }
  if (mediaType === 'application/pdf')
    return { type: 'document', mediaType, data: base64(blob, 'resource'), name: visibleName(path) }
  return { type: 'text', text: `[${visibleName(path)}: ${visibleName(mediaType || 'binary data')}, not shown]` }
}

/** Files are named by their paths, as tools take them; other addresses stay. */
function pathOf(uri: string): string {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : uri
  } catch {
    return uri // of another machine
  }
}

const label = (name: string): string => visibleName(name).replace(/[[\]]/g, '').slice(0, 200)

function imageType(mediaType: string): string {
  if (/^image\/[\w.+-]+$/.test(mediaType)) return mediaType
  throw new AcpError('invalid', `${JSON.stringify(mediaType.slice(0, 100))} is no type of an image; use image/png`)
}

function base64(data: string, what: string): string {
  if (data !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(data)) return data
  throw new AcpError('invalid', `The data of the ${what} must be base64`)
}
