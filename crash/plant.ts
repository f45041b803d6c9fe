import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A text in the sources and its replacement in a mutant. */
export interface Patch {
  /** Under `src/`. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** The patched source. A patch that does not match exactly once is an error. */
export function patched(source: string, { file, find, replace }: Patch): string {
  const places = source.split(find).length - 1
  if (places !== 1)
    throw new Error(`A mutant finds this text ${places} times in src/${file}, not once; fix the mutant: ${find}`)
  return source.replace(find, () => replace)
}

/** Throws if a patch no longer matches the sources. */
export function checkPatches(patches: readonly Patch[]): void {
  for (const patch of patches) patched(readFileSync(new URL(`../src/${patch.file}`, import.meta.url), 'utf8'), patch)
}

/** Applies patches while the sources are loaded. The files are not changed. */
export function plant(patches: readonly Patch[]): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.startsWith('file:')) return loaded
      const path = fileURLToPath(url)
      const its = patches.filter(({ file }) => path.endsWith(`/src/${file}`))
      if (its.length === 0) return loaded
      const source =
        typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source as Uint8Array)
      return { ...loaded, source: its.reduce(patched, source) }
    },
  })
}
