import * as nodeModule from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Clock } from '../core/clock.ts'

/** How long a module may take to load. */
export const importLimitMs = 10_000

/**
 * Loads a module as it is now: its digest is part of its address, and of its neighbours', so that changed code is not
 * taken for the code that was loaded before. A loop at its top level cannot be interrupted.
 */
export async function importFile(path: string, digest: string, clock: Clock): Promise<Record<string, unknown>> {
  const url = pathToFileURL(path)
  url.searchParams.set(mark, digest)
  const neighbours = passOnDigest()
  let cancel = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`loading it took longer than ${importLimitMs} ms; let it do less at its top level`)
    cancel = clock.timer(importLimitMs, () => reject(error))
  })
  try {
    return await Promise.race([import(/* @vite-ignore */ url.href) as Promise<Record<string, unknown>>, late])
  } finally {
    cancel()
    neighbours?.deregister()
  }
}

const mark = 'libero'

/** Where Node can do it; elsewhere a neighbour that changed is seen at the next start. */
function passOnDigest(): { deregister(): void } | undefined {
  const { registerHooks } = nodeModule as Partial<typeof nodeModule>
  return registerHooks?.({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const isNeighbour = specifier.startsWith('.') && context.conditions.includes('import')
      const digest = isNeighbour && digestIn(context.parentURL)
      if (!digest) return resolved
      const url = new URL(resolved.url)
      url.searchParams.set(mark, digest)
      return { ...resolved, url: url.href }
    },
  })
}

const digestIn = (url: string | undefined): string | null =>
  url?.includes(`${mark}=`) ? new URL(url).searchParams.get(mark) : null
