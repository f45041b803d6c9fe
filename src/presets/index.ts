export { basic, basicTools } from './basic.ts'
export { BUILD_AGENT, build, coding, codingTools, PLAN_AGENT, plan } from './coding.ts'
export { composePresets, definePreset, type Preset } from './preset.ts'
