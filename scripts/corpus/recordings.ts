import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { packageFor, type SdkPackage, type WireName, whyOutside, wireOf } from './names.ts'

/** What was recorded, and what to read it with. */
/** `unsupported`: a wire that is not ours, by the name of the file. `unreadable`: one that should be, and is not known. */
export type Recording =
  | Readable
  | { readonly name: string; readonly unsupported: string }
  | { readonly name: string; readonly unreadable: string }

export interface Readable {
  readonly name: string
  readonly wire: WireName
  readonly sdk: SdkPackage
  readonly answers: readonly Answer[]
}

/** One HTTP response. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly bytes: Uint8Array
  /** Names of the tools in the request, if recorded. */
  readonly tools: readonly string[]
}

/** All recordings of a folder and the folders in it, in the order of their names. */
export async function readRecordings(folder: string): Promise<Recording[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name))
  const recordings: Recording[] = []
  for (const path of paths.sort()) {
    if (path.endsWith('.chunks.txt')) recordings.push(readStream(basename(path), await readFile(path, 'utf8')))
    else if (path.endsWith('.json')) recordings.push(...readCassette(basename(path), await readFile(path, 'utf8')))
  }
  return recordings
}

/** Each line is the data of one event. */
function readStream(file: string, text: string): Recording {
  const name = file.slice(0, -'.chunks.txt'.length)
  const outside = whyOutside(name.split('--').slice(0, 2).join('--'))
  if (outside !== undefined) return { name, unsupported: outside }
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const payloads = lines.map(parsed)
  const wire = wireOf(name, payloads)
  if (!wire) return { name, unreadable: `the wire of ${name.split('--')[0]} is unknown` }
  const sdk = packageFor(name, wire)
  const answers = split(wire, payloads).map(([from, to]) => ({
    status: 200,
    contentType: 'text/event-stream',
    bytes: encode(lines.slice(from, to).map((line) => `data: ${line}\n\n`)),
    tools: [...toolNames(payloads.slice(from, to)), ...(sdk === 'xai' ? [] : customNames(payloads.slice(from, to)))],
  }))
  return { name, wire, sdk, answers }
}

/**
 * Some files hold the answers of a whole tool loop, one after the other. Where a wire says that an answer is over, the
 * next one begins; on the others it cannot be known.
 */
function split(wire: WireName, payloads: readonly unknown[]): [from: number, to: number][] {
  const types = payloads.map((payload) => String((payload as { type?: unknown } | null)?.type))
  const begins = wire === 'anthropic-messages' ? /^message_start$/ : /^response\.created$/
  const ends = wire === 'anthropic-messages' ? /^message_stop$/ : /^response\.(completed|incomplete|failed)$/
  const cuts: number[] = []
  let isOver = false
  for (const [i, type] of types.entries()) {
    if (isOver && begins.test(type)) cuts.push(i)
    isOver = ends.test(type) || (isOver && !begins.test(type))
  }
  return [0, ...cuts].map((from, i) => [from, cuts[i] ?? payloads.length])
}

interface Cassette {
  readonly interactions?: readonly Interaction[]
}

interface Interaction {
  readonly request?: { readonly url?: string; readonly body?: unknown }
  readonly response?: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
    readonly bodyEncoding?: string
  }
}

/** One recording for each exchange whose answer was streamed or an error. */
function readCassette(file: string, text: string): Recording[] {
  const name = file.slice(0, -'.json'.length)
  const outside = whyOutside(name.split('--')[0]!)
  if (outside !== undefined) return [{ name, unsupported: outside }]
  const cassette = parsed(text) as Cassette | null | undefined
  if (!Array.isArray(cassette?.interactions)) {
    console.error(`corpus: ${file} is no cassette, it is passed over`)
    return []
  }
  const interactions = cassette.interactions as readonly Interaction[]
  return interactions.flatMap((interaction, i) =>
    readInteraction(name, interactions.length > 1 ? `${name}#${i + 1}` : name, interaction),
  )
}

function readInteraction(file: string, name: string, interaction: Interaction | null): Recording[] {
  const { request, response } = interaction ?? {}
  if (!response) return []
  const { status = 200, headers, body, bodyEncoding } = response
  const bytes = bodyEncoding === 'base64' ? Buffer.from(String(body), 'base64') : encode([written(body)])
  const text = new TextDecoder().decode(bytes)
  const isStream = (header(headers, 'content-type') ?? '').includes('event-stream') || /^(data|event):/m.test(text)
  if (!isStream && status < 400) return []
  const payloads = [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data]) => parsed(data!))
  const wire = wireOf(file, payloads, request?.url)
  if (!wire) return [{ name, unreadable: `the wire of ${file.split('--')[0]} is unknown` }]
  const asked = typeof request?.body === 'string' ? parsed(request.body) : request?.body
  const contentType = isStream ? 'text/event-stream' : 'application/json'
  const answer: Answer = { status, contentType, bytes, tools: toolNames([{ response: asked }]) }
  return [{ name, wire, sdk: packageFor(file, wire, request?.url), answers: [answer] }]
}

const written = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body ?? ''))

function header(headers: Readonly<Record<string, string>> | undefined, wanted: string): string | undefined {
  return Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1]
}

/** The Responses API repeats the request's tools in its first event. */
function toolNames(payloads: readonly unknown[]): readonly string[] {
  for (const payload of payloads) {
    const tools = (payload as { response?: { tools?: unknown } } | null)?.response?.tools
    if (!Array.isArray(tools)) continue
    return tools.flatMap((tool: { name?: unknown; function?: { name?: unknown } } | null) => {
      const name = tool?.name ?? tool?.function?.name
      return typeof name === 'string' ? [name] : []
    })
  }
  return []
}

/** Only xAI runs custom tools itself: with all others, what is called was offered. */
function customNames(payloads: readonly unknown[]): readonly string[] {
  return payloads.flatMap((payload) => {
    const item = (payload as { item?: { type?: unknown; name?: unknown } } | null)?.item
    return item?.type === 'custom_tool_call' && typeof item.name === 'string' ? [item.name] : []
  })
}

const encode = (parts: readonly string[]): Uint8Array => new TextEncoder().encode(parts.join(''))

/** Text that is not JSON is no payload, but still part of the stream. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
