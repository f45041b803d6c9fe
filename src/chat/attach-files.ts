import { isUtf8 } from 'node:buffer'
import { posix } from 'node:path'
import type { Authority } from '../authority/authority.ts'
import { linksOf, prepareCall } from '../authority/prepare-call.ts'
import type { Agent } from '../core/agent.ts'
import { codeOf } from '../core/errors.ts'
import { effectsOf } from '../core/prepared-call.ts'
import { byteLength } from '../core/text.ts'
import type { PromptPart } from '../core/turn.ts'
import { type FileLocation, openFile, readAll } from '../platform/files-of.ts'
import { visibleName } from '../platform/visible-text.ts'
import { createReadFileTool } from '../tools/read-file.ts'
import { attachedText } from './attached-text.ts'
import type { ChatSettings, OutgoingMessage } from './chat.ts'

/** A message with the files that it names, and what was not attached, in words for the person. */
export interface AttachedMessage {
  readonly message: OutgoingMessage
  readonly notices: readonly string[]
}

/** Where the files are, and the authority that decides about them. */
export interface Attaching {
  readonly agent: Pick<Agent, 'execution' | 'handle' | 'session'>
  readonly authority?: Authority
  readonly settings: Pick<ChatSettings, 'folder'>
}

/** Larger files are read by the model itself, as far as it needs them. */
const mostBytes = 20_000
const mostFiles = 20

/**
 * Attaches the small text files that a message names with `@`. The model always gets the path. Of a file that it could not read
 * without a question it gets nothing else.
 */
export async function attachFiles(message: OutgoingMessage, opened: Attaching): Promise<AttachedMessage> {
  const paths = mentionsIn(message.text)
  const { execution, handle } = opened.agent
  if (paths.length === 0 || !execution) return { message, notices: [] }
  const own = handle ?? (await execution.spawn())
  try {
    const location = { execution, handle: own }
    const found = await readMentions(paths, { location, opened })
    const files = found.flatMap(({ part }) => (part ? [part] : []))
    const notices = found.flatMap(({ notice }) => (notice === undefined ? [] : [notice]))
    if (files.length === 0) return { message, notices }
    const before = message.parts ?? [{ type: 'text', text: message.text } as const]
    return { message: { ...message, parts: [...before, ...files] }, notices }
  } finally {
    if (own !== handle) await execution.destroy(own)
  }
}

/** The paths after `@`, each once; those with blanks are in quotes. */
export function mentionsIn(text: string): readonly string[] {
  const found = [...text.matchAll(/(?<=^|[\s(])@(?:"([^"\n]+)"|([^\s"]+))/g)]
  return [...new Set(found.map(([, quoted, plain]) => quoted ?? plain ?? ''))].slice(0, mostFiles)
}

interface Reading {
  readonly location: FileLocation
  readonly opened: Attaching
}

interface Mention {
  readonly part?: PromptPart
  readonly notice?: string
}

async function readMentions(paths: readonly string[], reading: Reading): Promise<readonly Mention[]> {
  const found: Mention[] = []
  for (const path of paths) found.push(await readMention(path, reading))
  return found
}

/** What follows a name in a sentence, such as a comma, is not part of it. */
async function readMention(path: string, reading: Reading): Promise<Mention> {
  const plain = path.replace(/[.,;:!?)]+$/, '')
  const tried = plain === path || plain === '' ? [path] : [path, plain]
  for (const one of tried) {
    const mention = await readFile(one, reading)
    if (mention) return mention
  }
  return {}
}

/** Undefined if there is no such file. */
async function readFile(path: string, reading: Reading): Promise<Mention | undefined> {
  const shown = visibleName(path)
  const refusal = await whyNotRead(path, reading)
  if (refusal !== undefined) return { notice: `${shown} is not attached: ${refusal}` }
  try {
    const file = await openFile(reading.location, path)
    try {
      // The path may lead elsewhere by now: what counts is the file that is open.
      const elsewhere = await whyNotRead(file.info.path, reading)
      if (elsewhere !== undefined) return { notice: `${shown} is not attached: ${elsewhere}` }
      if (file.info.size > mostBytes)
        return { notice: `${shown} is large; the model gets its name and reads what it needs` }
      const bytes = await readAll(file)
      if (bytes.includes(0) || !isUtf8(bytes)) return { notice: `${shown} is no text; the model gets its name` }
      const text = new TextDecoder().decode(bytes)
      if (byteLength(text) > mostBytes) return { notice: `${shown} has grown; the model gets its name` }
      return { part: { type: 'text', text: attachedText(path, text) } }
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = codeOf(error)
    return code === 'EISDIR' ? {} : code === undefined ? Promise.reject(error) : undefined
  }
}

const readFileTool = createReadFileTool()

/** Why a call of `read_file` would not be allowed without a question. */
async function whyNotRead(path: string, { location, opened }: Reading): Promise<string | undefined> {
  const { authority } = opened
  if (!authority) return undefined
  const { verdict, why } = await judgeRead(path, { location, opened, authority })
  if (verdict === 'allow') return undefined
  return verdict === 'deny' ? `reading it is refused (${why})` : `reading it needs an approval (${why})`
}

async function judgeRead(
  path: string,
  { location, opened, authority }: Reading & { readonly authority: Authority },
): ReturnType<Authority['judge']> {
  const root = posix.resolve(opened.settings.folder ?? location.handle.cwd)
  const realRoot = async (): Promise<string> => (await linksOf(location)?.(root).catch(() => undefined)) ?? root
  const input = { path }
  const workspace = { root, realRoot, isTrusted: false, location }
  const effects = effectsOf(readFileTool, input)
  const call = await prepareCall({ tool: readFileTool, input, effects }, workspace, runsNoCommands)
  const { session } = opened.agent
  const scope = { callId: '', sessionIds: session ? [session.id] : [], project: root, realProject: await realRoot() }
  return authority.judge(call, scope)
}

async function runsNoCommands(): Promise<never> {
  throw new Error('read_file runs no commands')
}
