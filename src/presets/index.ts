export { composePresets, definePreset, type Preset } from './preset.ts'
