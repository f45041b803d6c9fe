import { execFile } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, parse } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isMarkOfDeadProcess, processMark } from '../../platform/process-identity.ts'
import { onProcessExit } from '../../platform/process-keeper.ts'

/** The files of one handle on this machine, accessible only to this user. */
export interface PrivateFolder {
  /** The `/tmp` of the sandbox. */
  readonly temporary: string
  /** Another `/tmp`, for those that share nothing with others; the same for the same key. */
  temporaryFor(key: string): string
  /** An empty file that cannot be read. */
  readonly nothing: string
  readonly seccomp: string
  /** An unused file name. */
  file(name: string): string
  remove(): Promise<void>
}

export function createPrivateFolder(seccomp: Uint8Array): PrivateFolder {
  const folder = makeFolder()
  removeDead()
  const paths = {
    temporary: join(folder, 'tmp'),
    nothing: join(folder, 'nothing'),
    seccomp: join(folder, 'seccomp'),
  }
  makeTemporary(paths.temporary)
  writeFileSync(paths.nothing, '', { mode: 0 })
  writeFileSync(paths.seccomp, seccomp, { mode: 0o400 })
  const cancelAtExit = onProcessExit(() => {
    tryToRemove(folder)
    removeEmptyRoot()
  })
  const apart = new Map<string, string>()
  let n = 0
  return {
    ...paths,
    temporaryFor(key) {
      const known = apart.get(key)
      if (known !== undefined) return known
      const path = `${paths.temporary}-${apart.size + 1}`
      makeTemporary(path)
      apart.set(key, path)
      return path
    },
    file: (name) => join(folder, `${name}-${++n}`),
    async remove() {
      await removeFolder(folder)
      cancelAtExit()
      removeEmptyRoot()
    },
  }
}

function makeTemporary(path: string): void {
  mkdirSync(path)
  chmodSync(path, 0o1777)
}

/** The folder of all private folders of this user, hidden from commands. */
export function privateFoldersRoot(): string {
  const usual = usualRoot()
  return insteadOf.get(usual) ?? usual
}

const usualRoot = (): string => join(tmpdir(), `libero-sandboxes-${process.getuid?.() ?? ''}`)

/** By the usual folder, where another user of the machine made that one: everybody may write in `/tmp`. */
const insteadOf = new Map<string, string>()

/** One of this user that is there already, so that its processes remove what others of them left; else a new one. */
function anotherRoot(usual: string): string {
  const { dir, base } = parse(usual)
  const other = readdirSync(dir)
    .filter((name) => name.startsWith(`${base}-`))
    .map((name) => join(dir, name))
    .find(isPrivate)
  return other ?? mkdtempSync(`${usual}-`)
}

function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
}

const prefix = 'libero-sandbox-'
const tries = 20

function makeFolder(): string {
  const usual = usualRoot()
  for (let left = tries; ; left--) {
    try {
      const folder = join(makeRoot(usual), prefix + processMark())
      mkdirSync(folder, { mode: 0o700 })
      return folder
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || left === 0) throw error // else another process has just removed the empty parent
    }
  }
}

/** A folder that only this user may open. What this process uses already stays: its sandboxes are there. */
function makeRoot(usual: string): string {
  const other = insteadOf.get(usual)
  if (other !== undefined && isPrivate(other)) return other
  if (other === undefined) {
    mkdirSync(tmpdir(), { recursive: true })
    try {
      mkdirSync(usual, { mode: 0o700 })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    if (isPrivate(usual)) return usual
  }
  const root = anotherRoot(usual)
  insteadOf.set(usual, root)
  return root
}

function removeEmptyRoot(): void {
  try {
    rmdirSync(privateFoldersRoot())
  } catch {
    // still in use
  }
}

/** Commands may have left read-only folders, such as those of Go's modules. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(async () => {
    await new Promise((resolve) => execFile('/bin/chmod', ['-R', 'u+rwx', '--', folder], resolve))
    await rm(folder, { recursive: true, force: true })
  })
}

/** Removes folders of processes that ended without cleaning up. */
function removeDead(): void {
  const parent = privateFoldersRoot()
  for (const name of readdirSync(parent))
    if (name.startsWith(prefix) && isMarkOfDeadProcess(name.slice(prefix.length))) tryToRemove(join(parent, name))
}

function tryToRemove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // the next handle tries again
  }
}
