import type { Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { whyNotAProject } from './project-identity.ts'

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
export const slashed = (path: string): string => path.split(sep).join('/')

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
