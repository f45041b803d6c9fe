import * as fs from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { withReadErrors } from './file-errors.ts'
import { namesIn } from './files.ts'

/** The names of all folders of sessions. */
export async function* folderNamesIn(dir: string): AsyncGenerator<string> {
  for (const [i, name] of namesIn(dir).entries()) {
    if (i % namesPerTick === namesPerTick - 1) await setImmediate()
    const path = join(dir, name)
    const isFolder = withReadErrors(path, () => fs.lstatSync(path, { throwIfNoEntry: false }))?.isDirectory() === true
    if (isFolder && !name.includes('.')) yield name
  }
}

/** After this many names the event loop may run. */
const namesPerTick = 100
