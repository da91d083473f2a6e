-- Bodies of segments may be packed, see package compact. They are blobs then; those that were stored before are read as they are. Nothing
-- changes in the tables: this keeps older programs, which don't read them, from opening the file.

SELECT 1;
