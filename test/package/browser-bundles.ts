import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build as esbuild } from 'esbuild'
import { describe, expect, test } from 'vitest'
import type { InstalledPackage } from './installed-package.ts'

/** A bundler for web pages, without any shim. Gives the code. */
type Bundler = (input: string) => Promise<string>

const bundlers: Readonly<Record<string, Bundler>> = {
  async esbuild(input) {
    const options = { bundle: true, platform: 'browser', format: 'esm', minify: true, write: false } as const
    const { outputFiles } = await esbuild({ entryPoints: [input], ...options, logLevel: 'silent' })
    return outputFiles[0]!.text
  },
  async vite(input) {
    const { build } = await import('vite')
    const lib = { entry: input, formats: ['es' as const] }
    const built = await build({ configFile: false, logLevel: 'error', build: { lib, write: false } })
    const { output } = (Array.isArray(built) ? built[0] : built) as { output: { code: string }[] }
    return output.map(({ code }) => code).join('\n')
  },
}

/** What only Node has, and the words with which bundlers replace it. */
const ofNode = /node:|getBuiltinModule|\bprocess[.?[]|\bBuffer\b|\brequire\b|__vite-browser-external/

/** The subpaths for browsers, bundled from the installed package. */
export function browserBundles(installed: () => InstalledPackage): void {
  describe.each(Object.entries(bundlers))('by %s', (name, bundle) => {
    test.each([
      ['libero/chat/view-models', 'createMessageList'],
      ['libero/chat/view-models', 'foldEvent'],
      ['libero/client', 'createRemoteAgent'],
      ['libero/events', 'followEvents'],
      ['libero/ai-sdk', 'toUIMessages'],
    ])('E02 %s becomes code for a browser with nothing of Node in it', async (subpath, used) => {
      const input = join(installed().project, `${name}-${used}.mjs`)
      await writeFile(input, `export * from '${subpath}'`)
      const code = await bundle(input)
      expect(code).toContain(used)
      expect(ofNode.exec(code)?.[0]).toBeUndefined()
    })
  })
}
