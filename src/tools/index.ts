export { createInteractionTool, type InteractionToolOptions } from './interaction.ts'
export { createSpawnTool, type SpawnOptions, spawn } from './spawn.ts'
