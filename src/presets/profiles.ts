import { codingTools } from './coding.ts'
import { definePreset } from './preset.ts'

/** Works on a project, and asks before anything that could do harm. */
export const build = definePreset({ name: 'build', tools: codingTools, authority: { mode: 'ask' } })

const { writeFile: _, edit: __, multiEdit: ___, spawn: ____, ...lookingTools } = codingTools

/** Looks at a project and says what it would do. Commands that only look are run; nothing is changed, whoever allows it. */
export const plan = definePreset({
  name: 'plan',
  system:
    'You are planning. Look at whatever you need; nothing can be changed now. Your answer is the plan: the steps, the files they touch, and what is left open.',
  tools: lookingTools,
  authority: { mode: 'plan' },
})
