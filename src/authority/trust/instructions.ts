import type { Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { codeOf, messageOf } from '../../core/errors.ts'
import { byteLength, headBytes } from '../../core/text.ts'
import { type ReadingBudget, readInside, readingBudget } from '../../platform/source-files.ts'
import { fullyVisible, withoutHidden } from '../../platform/visible-text.ts'
import { whyNotAProject } from './project-identity.ts'
import type { ProjectItem } from './project-items.ts'

/** Instructions for the model, from a file of a project or of the user. */
export interface Instructions {
  readonly id: string
  readonly path: string
  /** The path from the root of the repository, with `/`. */
  readonly name: string
  readonly isOwn?: boolean
  readonly text: string
  /** The number of removed characters that no person can see. */
  readonly stripped: number
  /** The number of bytes cut off; the text says so at its end. */
  readonly left?: number
}

/** Removes characters only a model would read: tags, bidi and zero-width characters. Emoji stay whole. */
export function cleanInstructions(text: string): { readonly text: string; readonly stripped: number } {
  const { text: rest, hidden } = withoutHidden(text.replace(/^\ufeff/, ''))
  let stripped = hidden
  const clean = rest.replace(invisible, () => {
    stripped++
    return ''
  })
  return { text: clean, stripped }
}

/** The size limit of one file of instructions. */
export function instructionsBudget(): ReadingBudget {
  return readingBudget({ files: 1, mebibytes: 1 })
}

/** The instructions of an accepted item; undefined if the file changed since. */
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

/** The user's own instructions. The file may be a link, and may be missing. */
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

/** The size limit of all instructions together, in bytes. */
export const mostInstructions = 32 * 1024

/**
 * Caps instructions, which come root-first. The user's own are kept first, so that no project can displace them; then the
 * nearest, in full; the farther ones are cut, with a note at their end.
 */
export function capInstructions(
  given: readonly Instructions[],
  limit: number = mostInstructions,
): readonly Instructions[] {
  const kept = new Map<Instructions, Instructions>()
  let room = limit
  for (const one of [...given.filter(({ isOwn }) => isOwn), ...given.filter(({ isOwn }) => !isOwn).reverse()]) {
    const bytes = byteLength(one.text)
    kept.set(one, bytes <= room ? one : cut(one, bytes, room, limit))
    room -= Math.min(room, bytes)
  }
  return given.map((one) => kept.get(one)!)
}

function cut(one: Instructions, bytes: number, room: number, limit: number): Instructions {
  const text = headBytes(one.text, room)
  const left = bytes - byteLength(text)
  const mark = `[${left} bytes of this file are left out: all instructions together may have ${limit} bytes]`
  return { ...one, text: text === '' ? mark : `${text}\n${mark}`, left }
}

/** Instructions as a section of the system prompt: the same bytes for the same files, wherever they lie; empty if there are none. */
export function instructionsSection(instructions: readonly Instructions[]): string {
  return instructions.length === 0 ? '' : [opening, ...instructions.map(blockOf)].join('\n\n')
}

const opening =
  'These instructions come from files: those of the user first, then those of the project, from its root to where you are. Where two differ the later one counts; what the user asks for counts before all of them.'

function blockOf({ name, isOwn, text }: Instructions): string {
  const from = isOwn ? 'of="user"' : `path="${attribute(name)}"`
  return `<instructions ${from}>\n${text.replace(ownTag, '&lt;').trimEnd()}\n</instructions>`
}

/** Escaped, so that a file cannot end its block and start another. */
const ownTag = /<(?=\s*\/?\s*instructions)/gi

const attribute = (name: string): string =>
  fullyVisible(name).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

interface InstructionFile {
  /** The path from the project folder, with `/`: `../AGENTS.md` lies above it. */
  readonly id: string
  readonly path: string
}

/**
 * The files of instructions for a folder, from the root of its repository down: one per folder. Finds them by name, so
 * the order does not depend on the disk.
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

/** The root of a folder's repository; the folder itself if it is in none. */
export async function repositoryOf(root: string): Promise<string> {
  const [top = root] = await instructionFolders(root)
  return top
}

/** A path with `/` on every system. */
const slashed = (path: string): string => path.split(sep).join('/')

/** In each folder the first of these counts. */
const fileNames: readonly string[] = ['AGENTS.override.md', 'AGENTS.md', 'CLAUDE.md']

/** The folders up to the nearest `.git`. A folder that cannot be a project, such as the home folder, ends the search. */
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
