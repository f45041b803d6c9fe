import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { mutants, patched } from './mutants.ts'

// Loaded before a worker: adds a bug while the sources are loaded. The files are not changed.
const name = process.env.LIBERO_CRASH_MUTANT
const mutant = mutants.find((one) => one.name === name)
if (!mutant) throw new Error(`There is no mutant "${name}"; crash/mutants.ts lists them`)

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.startsWith('file:')) return loaded
    const path = fileURLToPath(url)
    const patches = mutant.patches.filter(({ file }) => path.endsWith(`/src/${file}`))
    if (patches.length === 0) return loaded
    const source =
      typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source as Uint8Array)
    return { ...loaded, source: patches.reduce(patched, source) }
  },
})
