import type { Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { codeOf, messageOf } from '../../core/errors.ts'
import { type ReadingBudget, readInside, readingBudget } from '../../platform/source-files.ts'
import { fullyVisible, withoutHidden } from '../../platform/visible-text.ts'
import { whyNotAProject } from './project-identity.ts'
import type { ProjectItem } from './project-items.ts'

/** Words for the model in a file of a project, or in the user's own. */
export interface Instructions {
  readonly id: string
  readonly path: string
  /** Its path from the root of the repository, with `/`: the same wherever the repository lies. */
  readonly name: string
  /** It is the user's own file, not one of the project. */
  readonly isOwn?: boolean
  readonly text: string
  /** How many characters were left out because no person can see them. */
  readonly stripped: number
  /** How many bytes were left out because there were too many; the text says so at its end. */
  readonly left?: number
}

/** A text without what only a model would read: tags, bidi and zero-width characters. An emoji keeps its parts. */
export function cleanInstructions(text: string): { readonly text: string; readonly stripped: number } {
  const { text: rest, hidden } = withoutHidden(text.replace(/^\ufeff/, ''))
  let stripped = hidden
  const clean = rest.replace(invisible, () => {
    stripped++
    return ''
  })
  return { text: clean, stripped }
}

/** What one file of instructions may have. */
export function instructionsBudget(): ReadingBudget {
  return readingBudget({ files: 1, mebibytes: 1 })
}

/** The instructions in an accepted item, or undefined when the file is not what was accepted any more. */
export async function readInstructions(
  root: string,
  { id, path, files }: ProjectItem,
): Promise<Instructions | undefined> {
  const repository = await repositoryOf(root)
  const file = await readInside(repository, path, instructionsBudget()).catch(() => undefined)
  const [accepted] = files.values()
  if (!file || file.digest !== accepted) return undefined
  return { id, path, name: slashed(relative(repository, path)), ...cleanInstructions(file.text) }
}

/** The user's own instructions. They may be a link to wherever the user keeps them; where there are none, nothing is wrong. */
export async function readOwnInstructions(path: string): Promise<{ own?: Instructions; problem?: string }> {
  try {
    const real = await realpath(path)
    const { text } = await readInside(dirname(real), real, instructionsBudget())
    return { own: { id: path, path, name: 'AGENTS.md', isOwn: true, ...cleanInstructions(text) } }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return {}
    return { problem: code === undefined ? messageOf(error) : `it cannot be read (${code})` }
  }
}

const invisible =
  /(?<!\p{Extended_Pictographic}|[0-9#*])\ufe0f|(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d|\u200d(?!\p{Extended_Pictographic})|(?!\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/gu

/** How much all instructions together may say, in bytes. */
export const mostInstructions = 32 * 1024

/**
 * Root-first instructions, no more than a model should be told. The user's own are kept first, so that no project can push
 * them out; then the nearest ones, whole; the farther ones are cut, and say so at their end.
 */
export function capInstructions(
  given: readonly Instructions[],
  limit: number = mostInstructions,
): readonly Instructions[] {
  const kept = new Map<Instructions, Instructions>()
  let room = limit
  for (const one of [...given.filter(({ isOwn }) => isOwn), ...given.filter(({ isOwn }) => !isOwn).reverse()]) {
    const bytes = Buffer.from(one.text)
    kept.set(one, bytes.length <= room ? one : cut(one, bytes, room, limit))
    room -= Math.min(room, bytes.length)
  }
  return given.map((one) => kept.get(one)!)
}

/** Between two characters, never inside of one. */
function cut(one: Instructions, bytes: Uint8Array, room: number, limit: number): Instructions {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, room), { stream: true })
  const left = bytes.length - Buffer.byteLength(text)
  const mark = `[${left} bytes of this file are left out: all instructions together may have ${limit} bytes]`
  return { ...one, text: text === '' ? mark : `${text}\n${mark}`, left }
}

/** Instructions as one part of a system prompt: the same bytes for the same files, wherever they lie; empty where there are none. */
export function instructionsSection(instructions: readonly Instructions[]): string {
  return instructions.length === 0 ? '' : [opening, ...instructions.map(blockOf)].join('\n\n')
}

const opening =
  'These instructions come from files: those of the user first, then those of the project, from its root to where you are. Where two differ the later one counts; what the user asks for counts before all of them.'

function blockOf({ name, isOwn, text }: Instructions): string {
  const from = isOwn ? 'of="user"' : `path="${attribute(name)}"`
  return `<instructions ${from}>\n${text.replace(ownTag, '&lt;').trimEnd()}\n</instructions>`
}

/** A file must not be able to end its block and go on as another one. */
const ownTag = /<(?=\s*\/?\s*instructions)/gi

const attribute = (name: string): string =>
  fullyVisible(name).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/** A file of instructions, by its name alone. */
interface InstructionFile {
  /** Its path from the folder of the project, with `/`: `../AGENTS.md` lies above it. */
  readonly id: string
  readonly path: string
}

/**
 * The files of instructions that hold in a folder, from the root of its repository down: one for each folder on the way.
 * Looks for names only, so it finds the same ones in the same order however the disk lists them.
 */
export async function instructionFiles(root: string): Promise<readonly InstructionFile[]> {
  const found: InstructionFile[] = []
  const folders = await instructionFolders(root)
  for (const folder of folders) {
    const path = await firstOf(folder)
    if (path !== undefined) found.push({ id: slashed(relative(folders.at(-1)!, path)), path })
  }
  return found
}

/** The root of the repository that a folder belongs to; the folder itself where it belongs to none. */
export async function repositoryOf(root: string): Promise<string> {
  const [top = root] = await instructionFolders(root)
  return top
}

/** A path with `/`, the same on every system. */
const slashed = (path: string): string => path.split(sep).join('/')

/** In each folder the first of these is the one that counts. */
const fileNames: readonly string[] = ['AGENTS.override.md', 'AGENTS.md', 'CLAUDE.md']

/** Up to the nearest `.git`: a repository inside another one takes nothing from it. What is nobody's project ends the way. */
async function instructionFolders(root: string): Promise<readonly string[]> {
  const start = await realpath(root)
  const folders: string[] = []
  for (let folder = start; ; folder = dirname(folder)) {
    if (folder !== start && (await whyNotAProject(folder)) !== undefined) return [start]
    folders.unshift(folder)
    if (await infoOf(join(folder, '.git'))) return folders
    if (folder === dirname(folder)) return [start]
  }
}

async function firstOf(folder: string): Promise<string | undefined> {
  for (const name of fileNames) {
    const info = await infoOf(join(folder, name))
    if (info && !info.isDirectory()) return join(folder, name)
  }
  return undefined
}

function infoOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined)
}
