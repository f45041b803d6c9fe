import type { Behavior } from '../core/behavior.ts'
import { glob } from '../tools/glob.ts'
import { grep } from '../tools/grep.ts'
import { shell } from '../tools/shell.ts'
import { shellOutput, shellStop } from '../tools/shell-jobs.ts'
import { todoread, todowrite } from '../tools/todo.ts'
import { webFetch } from '../tools/web-fetch.ts'
import { basicTools } from './basic.ts'
import { definePreset } from './preset.ts'

/** `basicTools` with background jobs, search, a task list and the web. */
export const codingTools = {
  ...basicTools,
  shell,
  shellOutput,
  shellStop,
  glob,
  grep,
  todowrite,
  todoread,
  webFetch,
}

/** Tools for working on a project. */
export const coding = definePreset({ name: 'coding', tools: codingTools })

/** For long work: a maximum of turns, compaction, and less thinking in later turns. */
const longWork = {
  maxTurns: 100,
  compactStrategy: 'summary',
  thinkingDecay: { afterTurn: 5, factor: 0.5, floor: 1024 },
} satisfies Behavior

/** Works on a project, and asks before anything that could do harm. */
export const build = definePreset({ name: 'build', tools: codingTools, authority: { mode: 'ask' }, behavior: longWork })

const { writeFile: _, edit: __, multiEdit: ___, spawn: ____, ...readOnlyTools } = codingTools

/** Examines a project and writes a plan. Only commands that read are run; nothing can be changed, even if a rule allows it. */
export const plan = definePreset({
  name: 'plan',
  system:
    'You are planning. Look at whatever you need; nothing can be changed now. Your answer is the plan: the steps, the files they touch, and what is left open.',
  tools: readOnlyTools,
  authority: { mode: 'plan' },
  behavior: longWork,
})

export { build as BUILD_AGENT, plan as PLAN_AGENT }
