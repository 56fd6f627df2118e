package bind

import "testing"

func TestNamesWrite(t *testing.T) {
	for name, want := range map[string]bool{
		"GetDel": true, "GetSet": true, "GetEx": true, "HGetDel": true, "HGetEX": true, "LPush": true, "BZPopMax": true,
		"SetNX": true, "ZIncrBy": true, "XGroupCreate": true, "ConfigSet": true, "FindOneAndUpdate": true,
		"GetOrCreate": true, "Post": true, "PostForm": true, "ExecContext": true,
		"Get": false, "GetRange": false, "HGetAll": false, "GetUpdates": false, "GetUpdateStatus": false, "ListPosts": false,
		"GetSettings": false, "Reset": true, "Settings": false, "DBSize": false, "Ping": false, "LRange": false,
		"GetAndOr": false, "": false, "X": false, "IsDeleted": false, "QueryRow": false,
	} {
		if got := namesWrite(name); got != want {
			t.Errorf("namesWrite(%q) = %v (%q)", name, got, words(name))
		}
	}
}

func TestMentions(t *testing.T) {
	for name, want := range map[string][2]bool{
		"read": {true, false}, "slow-reads": {true, false}, "get_user": {true, false}, "patientRead": {true, false},
		"save-orders": {false, true}, "write": {false, true}, "read-write": {true, true}, "spread": {}, "api": {},
	} {
		if reads, writes := Mentions(name); [2]bool{reads, writes} != want {
			t.Errorf("Mentions(%q) = %v, %v", name, reads, writes)
		}
	}
}
