import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { CommandWork } from '../../chat/lazy-command.ts'
import type { Io } from '../io.ts'
import { showOutput } from './show-output.ts'

const formats = ['md', 'html', 'jsonl']

/** Secrets are redacted; `libero sessions export` can keep them. */
export const exportSession = (io: Io): CommandWork => ({
  complete: () => formats.map((text) => ({ text, detail: 'to a new file in this folder' })),
  async run(argument, context) {
    const { chat } = context
    const { sessionId, settings } = chat.state
    const stored = sessionId === undefined ? undefined : await chat.agent?.agent.session?.store?.find(sessionId)
    if (!stored) throw new Error('There is nothing to export yet')
    const folder = settings.folder ?? io.cwd
    const output =
      formats.includes(argument) || argument === ''
        ? newFile(folder, stored.title ?? stored.id, argument || 'md')
        : argument
    if (!formats.includes(extname(output).slice(1).toLowerCase()))
      throw new Error(`"${output}" has none of the endings .${formats.join(', .')}, which choose the format`)
    await showOutput(io, { context, title: 'Export' }, async (inside) => {
      const { exportOne } = await import('../sessions/export.ts')
      return exportOne({ values: { output }, words: [stored.id] }, inside)
    })
  },
})

/** A name after the title that no file has yet. */
function newFile(folder: string, title: string, format: string): string {
  const name =
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 40) || 'session'
  for (let i = 1; ; i++) {
    const file = `${name}${i === 1 ? '' : `-${i}`}.${format}`
    if (!existsSync(join(folder, file))) return file
  }
}
