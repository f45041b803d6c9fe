import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** In every file that is put in the place of another one. */
export const canary = 'canary-7d1f'

/** How another program puts a new file or folder at a path. */
export const replacements: Readonly<Record<string, (path: string) => void>> = {
  'renames another file over it': (path) => {
    writeFileSync(`${path}.new`, `new ${canary}\n`)
    renameSync(`${path}.new`, path)
  },
  'removes it and makes it anew': (path) => {
    rmSync(path)
    writeFileSync(path, `new ${canary}\n`)
  },
  'renames it away and makes it anew': (path) => {
    renameSync(path, `${path}.bak`)
    writeFileSync(path, `new ${canary}\n`)
  },
  'renames it away, makes another one and brings it back': (path) => {
    renameSync(path, `${path}.bak`)
    writeFileSync(path, `new ${canary}\n`)
    renameSync(path, `${path}.new`)
    renameSync(`${path}.bak`, path)
  },
}
