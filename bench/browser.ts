import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { bundleInto } from '../scripts/build.ts'
import type { Result } from './measure.ts'

/** How much a web page loads: the subpaths for browsers, as published, bundled and minified. */
export async function browser(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  try {
    await bundleInto(folder)
    const [viewModels, events] = ['chat/view-models.js', 'events/index.js'].map((file) => join(folder, file))
    return [
      // 2.6 KB of these give a view the status that stores tell, and its rows back after an undo.
      await sizeOf('the view of a session', `export { emptyView, foldEvent } from '${viewModels}'`, 22),
      await sizeOf('libero/chat/view-models, with the view', `export * from '${viewModels}'`, 44),
      // Of these, 5 KB are the JSON Schema and 6 KB `readEvents` and `eventsResponse`; the rest is what the build shares.
      await sizeOf('libero/events', `export * from '${events}'`, 17),
      await sizeOf('following an agent', `export { durable, eventVersion, followEvents } from '${events}'`, 9),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function sizeOf(name: string, contents: string, goalKb: number): Promise<Result> {
  const options = { bundle: true, platform: 'browser', format: 'esm', minify: true, write: false } as const
  const { outputFiles } = await build({ stdin: { contents, resolveDir: '/' }, ...options })
  const code = outputFiles[0]!.contents
  const value = kilobytes(code.length)
  const result = { name: `${name}, minified KB`, value, goal: goalKb, ok: value <= goalKb }
  const mark = result.ok ? 'ok  ' : 'MISS'
  console.log(
    `${mark} ${result.name.padEnd(52)} ${value.toFixed(1).padStart(6)} KB (goal ${goalKb} KB)  ${kilobytes(gzipSync(code).length)} KB with gzip`,
  )
  return result
}

const kilobytes = (bytes: number): number => Number((bytes / 1024).toFixed(1))
