package blocks

import "github.com/minidfs/go-minidfs/internal/dfs"

// storagePolicy says which types of storage the replicas of a file go to: the last type of create is repeated, and
// where a type is not to be had the first of fallback that is.
type storagePolicy struct {
	create, fallback []dfs.StorageType
}

// policyOf gives the policy of that id; zero and unknown ones are HOT.
func policyOf(id uint8) storagePolicy {
	disk := []dfs.StorageType{dfs.StorageDisk}
	switch id {
	case 1: // PROVIDED
		return storagePolicy{[]dfs.StorageType{dfs.StorageProvided, dfs.StorageDisk}, []dfs.StorageType{dfs.StorageProvided, dfs.StorageDisk}}
	case 2: // COLD
		return storagePolicy{[]dfs.StorageType{dfs.StorageArchive}, nil}
	case 5: // WARM
		both := []dfs.StorageType{dfs.StorageDisk, dfs.StorageArchive}
		return storagePolicy{both, both}
	case 10: // ONE_SSD
		both := []dfs.StorageType{dfs.StorageSSD, dfs.StorageDisk}
		return storagePolicy{both, both}
	case 12: // ALL_SSD
		return storagePolicy{[]dfs.StorageType{dfs.StorageSSD}, disk}
	case 14: // ALL_NVDIMM
		return storagePolicy{[]dfs.StorageType{dfs.StorageNVDIMM}, disk}
	case 15: // LAZY_PERSIST
		return storagePolicy{[]dfs.StorageType{dfs.StorageRAMDisk, dfs.StorageDisk}, disk}
	}
	return storagePolicy{disk, nil}
}

// typeCounts says how many replicas are to go to each storage type.
type typeCounts [dfs.StorageNVDIMM + 1]int

func (p storagePolicy) types(replication int) (c typeCounts) {
	for i := range replication {
		c[p.create[min(i, len(p.create)-1)]]++
	}
	return c
}

// replace moves what could not be placed to the fallback types. It reports whether there is any hope.
func (p storagePolicy) replace(missing typeCounts) (typeCounts, bool) {
	var out typeCounts
	hope := false
	for _, n := range missing {
		if n == 0 {
			continue
		}
		for _, f := range p.fallback {
			if missing[f] == 0 {
				out[f] += n
				hope = true
				break
			}
		}
	}
	return out, hope
}
