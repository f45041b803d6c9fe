export {
  createFileSnapshots,
  type FileChange,
  type FileSnapshots,
  type FileSnapshotsOptions,
  type RollbackConflict,
  type RollbackOptions,
  type RollbackPlan,
  type RollbackResult,
} from './file-snapshots.ts'
export { NoSnapshots } from './git-place.ts'
export type { LeftOut, Snapshot } from './take-snapshot.ts'
