import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { build as esbuild } from 'esbuild'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleOf } from '../soak.ts'
import type { ApplicationSettings } from './application.ts'
import { copyInto, type InstalledPackage, linkPackage, root, run } from './installed-package.ts'

/** Makes one file of an application, or a few. */
type Bundler = (input: string, outfile: string) => Promise<unknown>

const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: (input, outfile) =>
    esbuild({ entryPoints: [input], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' }),
  'esbuild in several files': (input, outfile) =>
    esbuild({
      ...{ entryPoints: { main: input }, outdir: dirname(outfile), outExtension: { '.js': '.mjs' } },
      ...{ bundle: true, splitting: true, platform: 'node', format: 'esm', logLevel: 'error' },
    }),
  async rolldown(input, outfile) {
    const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' })
    const to = { dir: dirname(outfile), entryFileNames: basename(outfile) }
    await bundle.write({ ...to, format: 'esm', codeSplitting: false })
    await bundle.close()
  },
}

/** What an application does that so many of the bundlers bundled with the installed package: each effect once, each tool's right result. */
export function bundledApplications(installed: () => InstalledPackage, count: number): void {
  describe('E01 an application that is bundled', () => {
    let input: string
    const page = createServer((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<title>News</title><nav>menu</nav><h1>Today</h1><p>The <a href="/x">pears</a> are ripe.</p>')
    })
    beforeAll(async () => {
      await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
      input = await copyInto(installed().project, 'application.ts')
    })
    afterAll(() => new Promise((resolve) => page.close(resolve)))

    const ran = async (name: string, start: (file: string) => string[]): Promise<void> => {
      const elsewhere = join(installed().folder, `bundled-by-${name}`)
      const workspace = join(elsewhere, 'workspace')
      await mkdir(workspace, { recursive: true })
      await linkPackage('tiddlywiki', elsewhere) // an optional peer reads its own files: it is never bundled
      await writeFile(join(workspace, 'list.txt'), 'apples\npears\n')
      const file = join(elsewhere, 'main.mjs')
      const effects = join(elsewhere, 'effects')
      const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`
      const settings: ApplicationSettings = { effects, workspace, wikiFolder: join(root, 'examples/wiki'), page: url }
      await writeFile(join(elsewhere, 'settings.json'), JSON.stringify(settings))
      const [program, ...args] = start(file)
      const { stdout, output } = await run(elsewhere, program!, ...args)
      expect(await readFile(effects, 'utf8'), output).toBe('start\nmail\n')
      expect(JSON.parse(stdout)).toEqual([
        'sent',
        expect.stringContaining('list.txt'),
        expect.stringContaining(`Today\n\nThe pears (${url}x) are ripe.`),
        expect.stringMatching(/^apples\n\(exit 0/),
        expect.stringMatching(/^Blocked: .*denied/),
        'North bed,Round bed,South bed',
        'done',
      ])
    }

    test.each(sampleOf(Object.entries(bundlers), count))('E01 by %s does everything once', async (name, bundle) => {
      await bundle(input, join(installed().folder, `bundled-by-${name}`, 'main.mjs'))
      await ran(name, (file) => [process.execPath, file])
    })

    test('E01 by bun does everything once', async (context) => {
      const outfile = join(installed().folder, 'bundled-by-bun', 'main.mjs')
      const built = await run(installed().project, 'bun', 'build', input, '--target=bun', `--outfile=${outfile}`)
      if (built.code === -1) {
        console.warn('NOT TESTED: bun is not installed, so no application is bundled and run by bun')
        return context.skip()
      }
      expect(built.code, built.output).toBe(0)
      await ran('bun', (file) => ['bun', file])
    })

    test('E01 as CommonJS finds the packages that the application has installed', async () => {
      const elsewhere = join(installed().folder, 'bundled-as-commonjs')
      await mkdir(elsewhere)
      await linkPackage('tiddlywiki', elsewhere)
      const contents = `import { createTiddlyWikiStore } from 'libero/plugins'
        const garden = { folder: ${JSON.stringify(join(root, 'examples/wiki'))}, readOnly: true }
        const wiki = createTiddlyWikiStore({ workspaces: { garden } })
        wiki.open('garden').then((open) => open.filter('[tag[Beds]sort[title]]'))
          .then(({ titles }) => console.log(titles.join()), (error) => console.log(error.message))
          .then(() => wiki.close())`
      const outfile = join(elsewhere, 'main.cjs')
      await esbuild({
        ...{ stdin: { contents, resolveDir: installed().project }, outfile, bundle: true },
        ...{ platform: 'node', format: 'cjs', logLevel: 'error', logOverride: { 'empty-import-meta': 'silent' } },
      })
      const { stdout } = await run(elsewhere, process.execPath, outfile)
      expect(stdout.trim()).toBe('North bed,Round bed,South bed')
    })

    test('E01 a module that the program preloads is not loaded by its threads', async () => {
      const elsewhere = join(installed().folder, 'preloads')
      await mkdir(elsewhere)
      await writeFile(
        join(elsewhere, 'preload.mjs'),
        `import { appendFileSync } from 'node:fs'; appendFileSync('loaded', 'once\\n')`,
      )
      await writeFile(
        join(installed().project, 'reads.mjs'),
        `import { explainCommand } from 'libero/authority'
         console.log((await explainCommand('ls', { layers: {}, location: { root: '/', cwd: '/' } })).verdict)`,
      )
      const ran = await run(
        elsewhere,
        process.execPath,
        '--import',
        './preload.mjs',
        join(installed().project, 'reads.mjs'),
      )
      expect(ran).toMatchObject({ code: 0 })
      expect(await readFile(join(elsewhere, 'loaded'), 'utf8')).toBe('once\n')
    })
  })
}
