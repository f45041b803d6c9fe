/**
 * For processes that get an environment of their own: they find compiled what an earlier one compiled already, and start in
 * a third of the time. What inherits the environment has it from vitest.config.ts.
 */
export const compileCache: Readonly<Record<string, string>> =
  process.env.NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
