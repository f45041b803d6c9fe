import { execFile } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isMarkOfDeadProcess, processMark } from '../../platform/process-identity.ts'
import { onProcessExit } from '../../platform/process-keeper.ts'

/** What belongs to one handle on this machine; nobody else may look into it. */
export interface PrivatePlace {
  /** What the sandbox sees as `/tmp`. */
  readonly temporary: string
  /** An empty file that cannot be read. */
  readonly nothing: string
  readonly seccomp: string
  /** A name for a file nobody has. */
  file(name: string): string
  remove(): Promise<void>
}

export function createPrivatePlace(seccomp: Uint8Array): PrivatePlace {
  const folder = makeFolder()
  removeDead()
  const place = {
    temporary: join(folder, 'tmp'),
    nothing: join(folder, 'nothing'),
    seccomp: join(folder, 'seccomp'),
  }
  mkdirSync(place.temporary)
  chmodSync(place.temporary, 0o1777)
  writeFileSync(place.nothing, '', { mode: 0 })
  writeFileSync(place.seccomp, seccomp, { mode: 0o400 })
  const callOff = onProcessExit(() => {
    tryToRemove(folder)
    leaveParent()
  })
  let n = 0
  return {
    ...place,
    file: (name) => join(folder, `${name}-${++n}`),
    async remove() {
      await removeFolder(folder)
      callOff()
      leaveParent()
    },
  }
}

/** Where the places of all handles of this user are, which commands must not look into. */
export function privatePlaces(): string {
  return join(tmpdir(), `libero-sandboxes-${process.getuid?.() ?? ''}`)
}

const prefix = 'libero-sandbox-'
const tries = 20

function makeFolder(): string {
  const parent = privatePlaces()
  for (let left = tries; ; left--) {
    try {
      mkdirSync(parent, { mode: 0o700, recursive: true })
      const found = lstatSync(parent)
      if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
        throw new Error(
          `${parent} must be a folder of this user that nobody else may open; remove it, or set TMPDIR to another folder`,
        )
      const folder = join(parent, prefix + processMark())
      mkdirSync(folder, { mode: 0o700 })
      return folder
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || left === 0) throw error // else its last user took the parent away just now
    }
  }
}

function leaveParent(): void {
  try {
    rmdirSync(privatePlaces())
  } catch {
    // others are in it
  }
}

/** Commands may have left folders that nobody may write, such as those of Go's modules. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(async () => {
    await new Promise((resolve) => execFile('/bin/chmod', ['-R', 'u+rwx', '--', folder], resolve))
    await rm(folder, { recursive: true, force: true })
  })
}

/** Of processes that ended without tidying up. */
function removeDead(): void {
  const parent = privatePlaces()
  for (const name of readdirSync(parent))
    if (name.startsWith(prefix) && isMarkOfDeadProcess(name.slice(prefix.length))) tryToRemove(join(parent, name))
}

function tryToRemove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // the next one tries again
  }
}
