import { execFile } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from '../commands/at-exit.ts'
import { isMarkOfDead, processMark } from '../commands/process-mark.ts'

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
  removeDead()
  const folder = join(tmpdir(), prefix + processMark())
  mkdirSync(folder, { mode: 0o700 })
  const place = {
    temporary: join(folder, 'tmp'),
    nothing: join(folder, 'nothing'),
    seccomp: join(folder, 'seccomp'),
  }
  mkdirSync(place.temporary)
  chmodSync(place.temporary, 0o1777)
  writeFileSync(place.nothing, '', { mode: 0 })
  writeFileSync(place.seccomp, seccomp, { mode: 0o400 })
  const callOff = atExit(() => tryToRemove(folder))
  let n = 0
  return {
    ...place,
    file: (name) => join(folder, `${name}-${++n}`),
    async remove() {
      await removeFolder(folder)
      callOff()
    },
  }
}

const prefix = 'libero-sandbox-'

/** Commands may have left folders that nobody may write, such as those of Go's modules. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(async () => {
    await new Promise((resolve) => execFile('/bin/chmod', ['-R', 'u+rwx', '--', folder], resolve))
    await rm(folder, { recursive: true, force: true })
  })
}

/** Of processes that ended without tidying up. Ours only: in a folder that others can write, theirs may be traps. */
function removeDead(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix) || !isMarkOfDead(name.slice(prefix.length))) continue
    const path = join(tmpdir(), name)
    if (lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()) tryToRemove(path)
  }
}

function tryToRemove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // the next one tries again
  }
}
