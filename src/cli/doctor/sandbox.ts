import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { broken, type Check, type Finding, missing, ok } from './check.ts'

/** Whether `--sandbox` works: one is built, and a command is run in it. */
export const sandbox: Check = {
  name: 'sandbox',
  async look({ signal }) {
    if (process.platform !== 'linux')
      return missing('bubblewrap is for Linux only', 'use --context docker for walls around commands')
    const { createBubblewrapContext } = await import('../../execution/bubblewrap.ts')
    const folder = await mkdtemp(join(tmpdir(), 'libero-doctor-'))
    try {
      const context = createBubblewrapContext({ cwd: folder })
      const handle = await context.spawn()
      const { exitCode } = await context.exec(handle, 'exit 7', { signal }).finally(() => context.destroy(handle))
      if (exitCode === 7) return ok('bubblewrap works')
      return broken(`a command in bubblewrap ended with ${exitCode} instead of 7`, 'use --context docker')
    } catch (error) {
      return judgeProblem(messageOf(error))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

/** The context says what to do in its own words, after what is wrong. */
export function judgeProblem(message: string): Finding {
  const [says = '', ...steps] = message.split('. ')
  const mend = steps.join('. ').replace(/^Nothing was run[.;]? ?/, '')
  const isMissing = /^There is no /.test(message)
  return (isMissing ? missing : broken)(says, mend || 'use --context docker for walls around commands')
}
