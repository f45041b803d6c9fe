export { basic, basicTools } from './basic.ts'
export { coding, codingTools } from './coding.ts'
export { composePresets, definePreset, type Preset } from './preset.ts'
export { BUILD_AGENT, build, PLAN_AGENT, plan } from './profiles.ts'
