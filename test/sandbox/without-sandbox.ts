/** A program of its own, on a machine without a sandbox: an agent is to run the lines it gets as JSON; prints what became of them. */
import type { SecurityMode } from '../../src/authority/rules/settings.ts'
import { codeOf } from '../../src/core/errors.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { runByAgent } from './agent.ts'
import { runLine } from './harness.ts'
import { confinements } from './measure.ts'
import { createProject } from './project.ts'

/** What this program prints. */
export interface WithoutSandbox {
  /** Why there is no sandbox. */
  readonly why: string | undefined
  /** The lines that an agent ran without a question, by mode. */
  readonly ran: Readonly<Record<string, readonly string[]>>
  /** Lines that ran although the execution context was to confine them. */
  readonly unconfined: readonly string[]
}

const lines: readonly string[] = JSON.parse(process.argv[2] ?? '[]')
const modes: readonly SecurityMode[] = ['plan', 'ask', 'allowlist']
const project = await createProject('repository')
try {
  const execution = createProcessContext({ cwd: project.cwd })
  const { why } = (await execution.sandbox?.(await execution.spawn())) ?? {}
  const ran: Record<string, string[]> = {}
  for (const mode of modes) {
    const asked = await runByAgent(lines, {
      ...project,
      authority: { mode, ...(mode === 'allowlist' && { allowlist: ['shell'] }), workspace: { isTrusted: true } },
    })
    ran[mode] = asked.filter(({ runs }) => runs.length > 0).map(({ line }) => line)
  }
  const unconfined: string[] = []
  for (const line of lines)
    for (const confinement of Object.values(confinements))
      await runLine(line, { ...project, confinement: confinement(project.cwd) }).then(
        () => unconfined.push(line),
        (error) => codeOf(error) === 'ENOSANDBOX' || unconfined.push(`${line}: ${error}`),
      )
  const told: WithoutSandbox = { why, ran, unconfined }
  console.log(JSON.stringify(told))
} finally {
  await project.close()
}
