import type { Confinement } from '../src/core/execution.ts'
import { createProcessContext } from '../src/execution/process.ts'

/** Uses sandboxes in a process of its own: as another user, to be killed, or to end by itself. */
const readOnly: Confinement = {
  ...{ profile: 'read-only', reads: [], writes: [], hidden: [], hosts: [], home: 'empty' },
}
const [what = '', cwd = '', ...rest] = process.argv.slice(2)
const context = createProcessContext({ cwd })
const handle = await context.spawn()

const uses: Record<string, () => Promise<void>> = {
  /** Runs a command while a spare waits, and the placeholders of another one are still there. */
  async hang() {
    await context.exec(handle, 'true', { confinement: readOnly })
    await context.exec(handle, 'true', { confinement: { ...readOnly, profile: 'workspace-write' } })
    const said = (text: string): void => void process.stdout.write(text)
    await context.exec(handle, 'echo begun; sleep 1000', { confinement: readOnly, timeout: 0, onOutput: said })
  },

  /** Ends without `destroy`, while a spare waits. */
  async end() {
    console.log((await context.exec(handle, 'echo ended', { confinement: readOnly })).stdout)
  },

  /** Runs the given commands, and says what they printed. */
  async run() {
    console.log(JSON.stringify(await context.sandbox?.(handle)))
    for (const command of rest) {
      const { stdout, exitCode } = await context.exec(handle, command, { confinement: readOnly })
      console.log(JSON.stringify({ stdout, exitCode }))
    }
    await context.destroy(handle)
  },
}

await uses[what]?.()
