export { withAliases } from './aliases.ts'
export { withoutVision } from './without-vision.ts'
