import { dirname, join } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { inAscii } from './in-ascii.ts'
import type { Licences } from './licences.ts'

/**
 * Makes the code of a thread a text in a chunk of its own, with the packages that it needs. A thread that is started by a
 * URL does not survive the bundling of an application: there `import.meta.url` is the application's own program, and the
 * thread would run it again.
 */
export function threadsAsText(licences: Licences): Plugin {
  return {
    name: 'threads-as-text',
    transform: {
      filter: { code: threadUrl },
      handler: (code) => code.replaceAll(threadUrl, (_, file) => `import("${file}${mark}").then(({ code }) => code)`),
    },
    resolveId: { filter: { id: marked }, handler: (id, importer) => join(dirname(importer!), id) },
    load: {
      filter: { id: marked },
      async handler(id) {
        const { code, moduleIds } = await codeOf(id.slice(0, -mark.length))
        for (const file of moduleIds) licences.note(file)
        return `export const code = ${JSON.stringify(inAscii(code))}`
      },
    },
  }
}

const threadUrl = /new URL\('(\.\/[\w-]+-thread\.ts)', import\.meta\.url\)/g
const mark = '?as-text'
const marked = /-thread\.ts\?as-text$/

/** TiddlyWiki reads files of its own: its thread is told where they are. */
const external = [/^node:/, 'tiddlywiki']

/** A script of CommonJS, because that is what Node takes a text for. */
async function codeOf(input: string): Promise<{ code: string; moduleIds: string[] }> {
  const bundle = await rolldown({ input, platform: 'node', external })
  const { output } = await bundle.generate({ format: 'cjs', comments: false, codeSplitting: false })
  await bundle.close()
  const [chunk, ...more] = output
  if (more.length > 0) throw new Error(`${input} must become one text, but became ${output.length}`)
  return chunk
}
