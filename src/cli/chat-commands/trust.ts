import type { CommandWork } from '../../chat/lazy-command.ts'
import type { Io } from '../io.ts'
import { showOutput } from './show-output.ts'

/** What is trusted is what was shown: its digest goes back. */
export const trustProject = (io: Io): CommandWork => ({
  async run(_, context) {
    const { trust } = await import('../trust/trust.ts')
    const title = 'Trust'
    const shown = await showOutput(io, { context, title }, (inside) => trust({ values: {}, words: [] }, inside))
    const [, digest] = /^digest: (\S+)$/m.exec(shown) ?? []
    const isOpen = shown.includes('libero trust --digest')
    const items = [
      { label: 'leave it as it is' },
      ...(isOpen && digest !== undefined ? [{ label: 'trust it as it is now', values: { digest } }] : []),
      { label: 'trust it no longer', values: { revoke: true } },
    ]
    const index = await context.screen.choose({ title: 'This project', items, initial: 0 })
    const values = index === undefined ? undefined : items[index]?.values
    if (!values) return
    await showOutput(io, { context, title }, (inside) => trust({ values, words: [] }, inside))
    context.screen.print('It counts from the next session on: /new')
  },
})
