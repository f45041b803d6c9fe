import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { digestOf } from '../platform/digest.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import type { FoundTool } from './discover.ts'

/**
 * Loads a module exactly as it was hashed. The bytes of the module and of its relative imports are compared after the
 * engine has read them; an import that was not hashed is refused. Packages and later dynamic imports are not compared.
 * The digest is part of each URL, so that changed code is loaded again. An endless loop at the top level cannot be
 * interrupted.
 */
export async function importFile(found: FoundTool): Promise<Record<string, unknown>> {
  const hooks = registerHashChecks(found)
  try {
    return await import(/* @vite-ignore */ withDigest(pathToFileURL(found.path).href, found.digest))
  } finally {
    hooks?.deregister()
  }
}

/** Registers the checks, if this version of Node supports them. */
function registerHashChecks({ digest, files }: FoundTool): { deregister(): void } | undefined {
  const { registerHooks } = nodeModule as Partial<typeof nodeModule>
  return registerHooks?.({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const from = pathIn(context.parentURL)
      const path = pathIn(resolved.url)
      if (from === undefined || path === undefined || !files.has(from)) return resolved
      if (files.has(path)) {
        if (!context.conditions.includes('import')) return resolved
        return { ...resolved, url: withDigest(resolved.url, digest) }
      }
      if (isOfPackage(specifier, path)) return resolved
      throw new Error(
        `it imports ${fullyVisible(specifier)}, which was not hashed before; name it by a plain relative path`,
      )
    },
    load(url, context, next) {
      const loaded = next(url, context)
      const hashed = files.get(pathIn(url) ?? '')
      if (hashed === undefined) return loaded
      if (digestOf(bytesOf(loaded.source ?? readFileSync(new URL(url)))) !== hashed)
        throw new Error('it was changed while it was being loaded; reload it')
      return loaded
    },
  })
}

function withDigest(address: string, digest: string): string {
  const url = new URL(address)
  url.searchParams.set('libero', digest)
  return url.href
}

function pathIn(url: string | undefined): string | undefined {
  return url?.startsWith('file:') ? fileURLToPath(new URL(url)) : undefined
}

/** Whether an import is from a package, by specifier or by path. */
function isOfPackage(specifier: string, path: string): boolean {
  return (!/^[./#]/.test(specifier) && !URL.canParse(specifier)) || path.split(sep).includes('node_modules')
}

function bytesOf(source: string | ArrayBuffer | NodeJS.TypedArray): Uint8Array | string {
  return typeof source === 'string' || source instanceof Uint8Array ? source : new Uint8Array(source as ArrayBuffer)
}
