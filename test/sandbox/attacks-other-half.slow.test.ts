import { sampleOf } from '../soak.ts'
import { halvesOfAttacks, testAttacks } from './attack-sweep.ts'

testAttacks(sampleOf(halvesOfAttacks[1]!, 2))
