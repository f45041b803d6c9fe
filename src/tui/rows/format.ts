export * from '../../platform/format.ts'
